import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type BeaconChain, QUICKNET } from '#lib/draw/beacon-chain.ts';
import { RoundId } from '#lib/draw/bytes.ts';
import { LEAD_SEC, MARGIN_SEC } from '#lib/draw/parameters.ts';
import { decodeBase58 } from '#lib/scalars.ts';
import { openChainReader } from './chain-reader.ts';
import { Unreadable, VerificationFailure } from './epoch-published.ts';
import { type Committer, checkPayouts, checkRound, findCommitment, findCommitter } from './round-check.ts';
import { downloadKeys, downloadRound, hasNoCommitment, type Keys, readBeaconChain, readServiceBeacon } from './round-published.ts';

const print = (line: string) => void process.stdout.write(`${line}\n`);
const printError = (line: string) => void process.stderr.write(`${line}\n`);

interface CommandLine {
  readonly base: string;
  readonly id: string;
  readonly rpc: string;
  readonly committer: string | undefined;
  readonly beacon: string | undefined;
  readonly minLeadSec: number;
  readonly minMarginSec: number;
}

/** Returns the beacon chain. Prints a warning when the beacon chain is taken from the service. */
async function selectBeacon({ base, beacon }: CommandLine, keys: () => Promise<Keys>): Promise<BeaconChain> {
  if (beacon === undefined) return QUICKNET;
  if (beacon !== 'service') return await readBeaconChain(beacon);
  printError(`warning: the beacon is not pinned; using the one that ${base} reports`);
  return await readServiceBeacon(await keys());
}

/** Returns the present committer key and the former keys, oldest first. Prints a warning when the keys are taken from the service. */
async function selectCommitters({ base, committer }: CommandLine, keys: () => Promise<Keys>): Promise<{ present: string; former: string[] }> {
  if (committer !== undefined) return { present: committer, former: [] };
  const { committer: present, formerCommitters: former } = await keys();
  if (present === null) throw new Unreadable(`${base} reports no committer key; pass --committer ADDRESS`);
  const before = former.length === 0 ? '' : ` (former: ${former.join(', ')})`;
  printError(`warning: the committer is not pinned; using ${present}${before} that ${base} reports; pin it with --committer`);
  return { present, former };
}

async function verify(commandLine: CommandLine): Promise<string> {
  const { base, id, minLeadSec, minMarginSec } = commandLine;
  let downloaded: Promise<Keys> | undefined;
  const keys = () => {
    downloaded ??= downloadKeys(base);
    return downloaded;
  };
  const [beacon, { present, former }] = [await selectBeacon(commandLine, keys), await selectCommitters(commandLine, keys)];
  let shown = await downloadRound(base, id);
  const chain = openChainReader(commandLine.rpc);
  const signedBy = async (key: string): Promise<Committer> => ({ key, memos: await chain.memosOf(key) });
  const before: Committer[] = [];
  for (const key of former) before.push(await signedBy(key));
  const { key: committer, memos } = findCommitter(before, await signedBy(present), id);
  const own = await findCommitment(memos, id, chain.firstBlock);
  print(`${memos.length} memos of ${committer}, all commitments since the first: numbered without gaps or repetitions, each names the previous one`);
  if (own !== null && hasNoCommitment(shown.audit)) {
    // The commitment landed after the round was downloaded. The service publishes the commitment a few seconds later, so the round is downloaded
    // again.
    await sleep(5_000);
    shown = await downloadRound(base, id);
  }
  const landed = own === null ? null : await chain.landed(own, committer);
  const audit = checkRound(shown, { id, beacon, committer, landed, minLeadSec, minMarginSec }, print);
  if (shown.payouts !== null) await checkPayouts(shown.payouts, audit, chain, print);
  if (audit.void !== null) return 'void';
  return audit.draw !== null ? 'finalized' : audit.commitment !== null ? 'committed, not drawn yet' : 'closing, not committed yet';
}

const USAGE = 'usage: bin/verify-round URL ID [--rpc URL] [--committer ADDRESS] [--beacon URL|service] [--least-lead SEC] [--least-margin SEC]';

function parseOptions(): CommandLine | null {
  const text = { type: 'string' } as const;
  const options = { rpc: text, committer: text, beacon: text, 'least-lead': text, 'least-margin': text };
  const { values, positionals } = parseArgs({ allowPositionals: true, options });
  const { rpc = process.env.SOLANA_RPC_URL ?? 'https://api.mainnet-beta.solana.com', committer, beacon } = values;
  const { 'least-lead': lead = String(LEAD_SEC), 'least-margin': margin = String(MARGIN_SEC) } = values;
  const [base = '', id = ''] = positionals;
  const isOne = positionals.length === 2 && URL.canParse(base) && RoundId.safeParse(id).success && URL.canParse(rpc);
  const isPinned = committer === undefined || decodeBase58(committer)?.length === 32;
  const isBeacon = beacon === undefined || beacon === 'service' || URL.canParse(beacon);
  const isTimed = [lead, margin].every((seconds) => /^\d{1,5}$/.test(seconds));
  if (!isOne || !isPinned || !isBeacon || !isTimed) return null;
  return { base, id, rpc, committer, beacon, minLeadSec: Number(lead), minMarginSec: Number(margin) };
}

/** Parses the command line. Returns null when an option is unknown or a value is invalid. */
function parseCommandLine(): CommandLine | null {
  try {
    return parseOptions();
  } catch {
    return null;
  }
}

async function main(): Promise<number> {
  const round = parseCommandLine();
  if (round === null) {
    printError(USAGE);
    return 2;
  }
  try {
    print(`round ${round.id} is verified: ${await verify(round)}`);
    return 0;
  } catch (error) {
    if (error instanceof VerificationFailure) {
      printError(`round ${round.id} failed verification: ${error.message}`);
      return 1;
    }
    if (!(error instanceof Unreadable)) throw error;
    printError(`round ${round.id} could not be checked: ${error.message}`);
    return 2;
  }
}

process.exitCode = await main();
