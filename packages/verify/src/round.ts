import { z } from 'zod';
import { type Audit, PublishedAudit } from '../../../src/lib/draw/audit.ts';
import { fromHex, millis, RoundId, toHex } from '../../../src/lib/draw/bytes.ts';
import { checkClose, checkEntryTimes, checkParameters } from '../../../src/lib/draw/checks.ts';
import { entryLeaves } from '../../../src/lib/draw/entry.ts';
import { firstDifference, shapeMismatch } from '../../../src/lib/draw/mismatch.ts';
import { parametersHash } from '../../../src/lib/draw/parameters.ts';
import { summarize } from '../../../src/lib/draw/round-leaf.ts';
import { findBrokenRule } from '../../../src/lib/draw/rules.ts';
import { verifyStatement } from '../../../src/lib/draw/statements.ts';
import { openChain } from './chain.ts';
import { readOnChain } from './commitment.ts';
import { checkDraw, checkPublication, checkUncommitted } from './draw.ts';
import { checkKeptClose, checkReceipts, checkRules, checkSignatures, drawsNamedBy, type KeptStatements, readEvidence } from './evidence.ts';
import { houseOfAudit, openHouse, parseEntries } from './house.ts';
import type { Context, KnownRound, RoundResult } from './known.ts';
import { KNOWN_PROGRAM } from './known-program.ts';
import { demand, Lie, type OnStep, Report, type Step, Unknown, type Verdict } from './report.ts';
import { DRAND_URLS, type HttpSource, httpSource, mirrors, type RpcSource, rpcSource } from './sources.ts';

/** Values that the user of the verifier knows from another source. The verifier takes a value on the house's word if the value is neither pinned nor built in. */
export interface Pins {
  /** Address of the draws account. */
  readonly draws?: string | undefined;
  /** Hash of the beacon chain; default: quicknet. */
  readonly beacon?: string | undefined;
  /** Hash of the program `draws` (`programHash`); default: the built-in one. */
  readonly program?: string | undefined;
  readonly treasury?: string | undefined;
  /** Genesis hash of the cluster. */
  readonly genesisHash?: string | undefined;
}

export interface VerifyOptions extends KeptStatements {
  /** Id of the round. */
  readonly round: string;
  /** URL of the house, or a function that answers its paths. Optional when `audit` and `entries` are given. */
  readonly house?: string | HttpSource | undefined;
  /** The audit of the round as parsed JSON, in place of the one that the house shows. */
  readonly audit?: unknown;
  /** The entries as NDJSON. They replace the entries that the house shows. */
  readonly entries?: string | undefined;
  /** URL of the verifier's own Solana node, or a function that calls it. */
  readonly rpc: string | RpcSource;
  /** URLs of the beacon, or a function that answers its paths; default: drand's public mirrors. */
  readonly beacon?: readonly string[] | HttpSource | undefined;
  readonly pins?: Pins | undefined;
  /** Whether a draws account under development rules may give the verdict `true`. */
  readonly development?: boolean | undefined;
  /** Returns the present time, ms since 1970. */
  readonly now?: (() => number) | undefined;
  /** Waits for a node that is a little behind, before something counts as missing on the chain. */
  readonly wait?: ((ms: number) => Promise<void>) | undefined;
  readonly onStep?: OnStep | undefined;
}

export interface Verification {
  readonly verdict: Verdict;
  /** Whether the round was drawn under development rules, which do not protect anybody. */
  readonly isDevelopment: boolean;
  readonly steps: readonly Step[];
  /** Values that the verifier took from the house without a possibility to check them. */
  readonly onTheHousesWord: readonly string[];
  /** null before the time of the beacon round, for a void round, and when a check before the draw failed. */
  readonly result: RoundResult | null;
}

/** Verifies a round. Never throws for what a house, a node or a beacon answers: the verdict says it. */
export async function verifyRound(options: VerifyOptions): Promise<Verification> {
  const report = new Report(options.onStep);
  const outcome: { isDevelopment: boolean; result: RoundResult | null } = { isDevelopment: false, result: null };
  try {
    const context = open(report, options);
    const known = await compareDocuments(context, options, (isDevelopment) => {
      outcome.isDevelopment = isDevelopment;
    });
    outcome.result = known.commitment === null ? await checkUncommitted(context, known) : await checkDraw(context, known, known.commitment);
    if (outcome.result !== null) await checkPublication(context, known, outcome.result);
  } catch (error) {
    report.ended(error);
  }
  return { verdict: report.verdict, ...outcome, steps: report.steps, onTheHousesWord: report.onTheHousesWord };
}

function open(report: Report, options: VerifyOptions): Context {
  const { round: id, house, beacon = DRAND_URLS, rpc, audit, now = Date.now } = options;
  if (!RoundId.safeParse(id).success) throw new Unknown('round', `${id} is not the id of a round`);
  const shown = house === undefined ? houseOfAudit(audit) : openHouse(typeof house === 'string' ? httpSource(house) : house, id);
  return {
    ...{ report, id, now: now(), evidence: readEvidence(options, id), pinnedBeacon: options.pins?.beacon },
    wait: options.wait ?? ((ms) => new Promise((resolve) => setTimeout(resolve, ms))),
    house: audit === undefined ? shown : { ...shown, audit: async () => audit },
    chain: openChain(typeof rpc === 'string' ? rpcSource(rpc) : rpc),
    beacon: typeof beacon === 'function' ? beacon : mirrors(beacon.map(httpSource)),
  };
}

/** Reads the audit, the accounts and the entries, and checks them against each other and against the kept statements. */
async function compareDocuments(context: Context, options: VerifyOptions, setDevelopment: (isDevelopment: boolean) => void): Promise<KnownRound> {
  const { report, id, chain, evidence } = context;
  const { pins = {} } = options;
  const genesisHash = await chain.genesisHash();
  if (pins.genesisHash !== undefined && pins.genesisHash !== genesisHash)
    throw new Unknown('cluster', `the node is of the cluster ${genesisHash}, not ${pins.genesisHash}`);
  const document = await context.house.audit();
  if (document === null) return await withheldAudit(context, pins);
  const { audit, entryHashes } = readAudit(document);
  const { parameters } = audit;
  if (parameters.genesisHash !== genesisHash) {
    const text = `the round is of the cluster ${parameters.genesisHash}, not of the node's cluster ${genesisHash}`;
    throw pins.genesisHash === undefined ? new Unknown('cluster', text) : new Lie('cluster', text);
  }
  const named = pins.draws ?? drawsNamedBy(evidence);
  if (named === null) report.word(`the address of the draws account, ${parameters.draws}`);
  const onChain = await readOnChain(context, named ?? parameters.draws, pins.program ?? KNOWN_PROGRAM);
  const { draws } = onChain;
  setDevelopment(draws.isDevelopment);
  if (draws.isDevelopment && !options.development) report.unknown('development', `the draws account ${draws.address} is under development rules`);
  const hash = parametersHash(parameters);
  checkSignatures(evidence, draws.receiptKey);
  if (audit.round !== id || parameters.round !== id) throw new Lie('round', `the house shows round ${parameters.round} in place of ${id}`);
  demand('parameters', checkParameters(parameters, draws));
  checkRules(report, evidence, draws.address, hash);
  if (audit.parametersHash !== hash) throw new Lie('parameters', `parametersHash is ${audit.parametersHash}, but must be ${hash}`);
  if (pins.treasury === undefined) report.word(`the address of the treasury, ${parameters.treasury}`);
  else if (pins.treasury !== parameters.treasury) throw new Lie('parameters', `the treasury is ${parameters.treasury}, not ${pins.treasury}`);
  report.holds('parameters', `the rules of the round have the hash ${hash}`);
  return await compareEntries(context, options, { ...onChain, audit, hash }, entryHashes);
}

/** Ends the verification of a round whose audit the house does not show. @throws always */
async function withheldAudit(context: Context, pins: Pins): Promise<never> {
  const named = pins.draws ?? drawsNamedBy(context.evidence);
  const onChain = named === null ? null : await readOnChain(context, named, pins.program ?? KNOWN_PROGRAM);
  if (onChain?.commitment) throw new Lie('audit', `the house shows no audit of the round, although ${onChain.commitment.address} commits it`);
  throw new Unknown('audit', 'the house shows no audit of this round: it does not exist or is not closed');
}

function readAudit(document: unknown): { audit: Audit; entryHashes: readonly string[] | undefined } {
  const version = z.object({ version: z.number() }).safeParse(document).data?.version;
  if (version !== undefined && version > 2) throw new Unknown('audit', `the audit has version ${version}, which this verifier does not know`);
  const parsed = PublishedAudit.safeParse(document);
  if (parsed.success) {
    const { entryHashes, ...audit } = parsed.data;
    return { audit, entryHashes };
  }
  const { where, reason } = shapeMismatch(parsed.error, '');
  throw new Lie('audit', `${where} ${reason}`);
}

async function compareEntries(
  context: Context,
  options: VerifyOptions,
  known: Omit<KnownRound, 'entries' | 'summary' | 'closedAt'>,
  entryHashes: readonly string[] | undefined,
): Promise<KnownRound> {
  const { report, id, house, evidence } = context;
  const { audit, hash, draws } = known;
  const { parameters, announcement, closed } = audit;
  const shared = { draws: draws.address, round: id, parametersHash: hash };
  for (const [name, signed] of Object.entries({ announcement, closed })) {
    const { draws: named, round, parametersHash: stated } = signed.statement;
    demand('statements', firstDifference(shared, { draws: named, round, parametersHash: stated }, `${name}.statement`));
    if (!verifyStatement(draws.receiptKey, signed)) throw new Lie('statements', `${name} is not signed with the receipt key ${draws.receiptKey}`);
  }
  const closedAt = millis(closed.statement.closedAt);
  demand('statements', checkClose(parameters, closedAt));
  checkKeptClose(report, evidence, closed);
  const { count: stated } = closed.statement;
  const entries = stated === 0 && options.entries === undefined ? [] : parseEntries(options.entries ?? (await house.entries()));
  checkReceipts(report, evidence, fromHex(hash), id, entries);
  demand('entries', findBrokenRule(parameters, entries) ?? checkEntryTimes(entries, closedAt));
  const leaves = entryLeaves(id, entries);
  const summary = summarize(id, hash, entries, leaves);
  const { count, runningHash, root } = summary;
  demand('entries', firstDifference({ count, runningHash }, { count: stated, runningHash: closed.statement.runningHash }, 'closed.statement'));
  demand('entries', firstDifference({ count, root, runningHash }, audit.entries, 'entries'));
  if (entryHashes !== undefined && entryHashes.join('') !== toHex(leaves)) throw new Lie('entries', 'entryHashes are not the leaves of the entries');
  report.holds('entries', `${count} entries keep the rules of the round and are those of the signed closing`);
  if (Object.values(parameters.entryRules).some((rule) => rule !== null))
    report.word('that each wallet met the entry rules of the round when it entered');
  return { ...known, entries, summary, closedAt };
}
