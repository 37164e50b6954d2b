/**
 * The test vectors of docs/verification.md: `node test/lib/draw/vectors.ts` writes them to docs/verification/. Other implementations of the protocol
 * check themselves against these files, so a change of a vector is a change of the protocol.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import bs58 from 'bs58';
import { allocate } from '#lib/allocation.ts';
import { canonicalize } from '#lib/canonical.ts';
import { commitmentAddress, drawsAddress } from '#lib/draw/accounts.ts';
import { type BeaconChain, QUICKNET, timeOf } from '#lib/draw/beacon-chain.ts';
import { verifySignature } from '#lib/draw/beacon-signature.ts';
import { buildAudit } from '#lib/draw/build.ts';
import { fromHex, instantOf, toHex, u32 } from '#lib/draw/bytes.ts';
import { type Entry, entryLeaf, entryLeaves, entryLine, entryTree, proveEntry } from '#lib/draw/entry.ts';
import { derivedNumbers } from '#lib/draw/numbers.ts';
import { NO_ENTRY_RULES, parametersHash, type RoundParameters } from '#lib/draw/parameters.ts';
import { membersHash, payoutMemo } from '#lib/draw/payout.ts';
import { runningHashes } from '#lib/draw/round-leaf.ts';
import { randomnessOf } from '#lib/draw/seed.ts';
import { receiptStatement, signStatement, statementBytes } from '#lib/draw/statements.ts';
import { integersFrom, keyedHash } from '#lib/draw/stream.ts';
import { buildTree, leafHash, proofOf, rootOf } from '#lib/merkle.ts';
import { programHash } from '#packages/verify/src/index.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';
import { encodeCommitment, encodeDraws } from '#test/support/verify/accounts.ts';
import { epochAccount, jsonTexts, programs, tokenAccounts, transactions } from './chain-vectors.ts';
import { epochPoints } from './epoch-points.ts';
import {
  addressOf,
  bytesOf,
  CHAIN,
  chatParameters,
  drawsOf,
  entriesOf,
  finished,
  keyOf,
  legacyParameters,
  PROGRAM,
  RECEIPT_KEY,
  signatureOf,
  uuidOf,
} from './rounds.ts';

export const FOLDER = join(import.meta.dirname, '../../../docs/verification');

/** Round 1000 of quicknet, published on 2023-08-23 at 15:59:24 UTC. */
const QUICKNET_ROUND = 1_000;
const QUICKNET_SIGNATURE = 'b44679b9a59af2ec876b1a6b1ad52ea9b1615fc3982b19576350f93447cb1125e342b73a8dd2bacbe47e4b6b63ed5e39';
/** Times whose commitment names round 1000 of quicknet. */
const TIMES = { opensAt: '2023-08-23T15:00:00.000Z', closesAt: '2023-08-23T15:56:21.000Z' };

const random = () => randomGenerator(2_026);
const tied = chatParameters({ ...TIMES, round: uuidOf('a round with ties'), picks: 3, range: 5 });
const rules = {
  ...{ minTokenBalance: { amount: '1000000', mint: addressOf('reward') }, minAcceptedScores: 3 },
  ...{ linkedAccount: 'x', signedInBefore: '2023-08-01T00:00:00.000Z' },
};
const ROUNDS: readonly { readonly name: string; readonly parameters: RoundParameters; readonly entries: readonly Entry[] }[] = [
  { name: 'a chat round with ties, three entries per wallet', parameters: tied, entries: entriesOf(tied, 12, 4, random()) },
  ...[chatParameters({ ...TIMES, round: uuidOf('a larger round') })].map((parameters) => ({
    ...{ name: 'a chat round of 37 entries', parameters, entries: entriesOf(parameters, 37, 25, random()) },
  })),
  ...[chatParameters({ ...TIMES, round: uuidOf('a round with rules'), picks: 1, range: 1, entryRules: rules })].map((parameters) => ({
    ...{ name: 'a chat round of one entry, with all entry rules', parameters, entries: entriesOf(parameters, 1, 1, random()) },
  })),
  ...[legacyParameters({ ...TIMES, maxTickets: 9 })].map((parameters) => ({
    ...{ name: 'a legacy round of nine tickets', parameters, entries: entriesOf(parameters, 9, 4, random()) },
  })),
  ...[legacyParameters({ ...TIMES, round: uuidOf('a free round'), ticketPrice: '0', maxTicketsPerWallet: 1 })].map((parameters) => ({
    ...{ name: 'a legacy round of one free ticket', parameters, entries: entriesOf(parameters, 1, 1, random()) },
  })),
];

const quicknet = { chain: QUICKNET, signature: () => QUICKNET_SIGNATURE };

function round({ name, parameters, entries }: (typeof ROUNDS)[number]) {
  const hash = parametersHash(parameters);
  const facts = finished(parameters, entries, quicknet);
  const audit = buildAudit(facts, entries);
  const leaves = entryLeaves(parameters.round, entries);
  const running = runningHashes(fromHex(hash), leaves);
  const tieOf = keyedHash(fromHex(audit.draw?.seed ?? ''), 'tie/1');
  const hashAt = (hashes: Uint8Array, i: number) => toHex(hashes.subarray(32 * i, 32 * (i + 1)));
  return {
    name,
    canonicalParameters: canonicalize(parameters),
    entries: entries.map((entry, i) => ({
      line: entryLine(entry),
      leaf: hashAt(leaves, i),
      runningHash: hashAt(running, i),
      tie: toHex(tieOf(u32(i))),
    })),
    proofOfLastEntry: proveEntry(entryTree(leaves), entries.length - 1).proof,
    audit,
  };
}

function statements() {
  const parameters = tied;
  const entries = ROUNDS[0]?.entries ?? [];
  const { announcement, closed } = finished(parameters, entries, quicknet);
  const entry = entries[7];
  if (!entry) throw new Error('the round has too few entries');
  const { draws, round: id } = parameters;
  const hash = parametersHash(parameters);
  const running = runningHashes(fromHex(hash), entryLeaves(id, entries.slice(0, 8))).slice(-32);
  const receipt = signStatement(
    receiptStatement({ draws, round: id, parametersHash: hash }, uuidOf('entry 7'), entry, toHex(running)),
    RECEIPT_KEY.sign,
  );
  const signed = [announcement, receipt, closed].map((one) => ({
    ...one,
    signedText: new TextDecoder().decode(statementBytes(one.statement)),
    valid: true,
  }));
  const other = signStatement(closed.statement, keyOf('another key').sign);
  const invalid = [
    { ...other, reason: 'it is signed with another key' },
    { statement: { ...closed.statement, count: closed.statement.count - 1 }, signature: closed.signature, reason: 'a field was changed' },
  ].map((one) => ({ ...one, valid: false }));
  return { secretKey: bytesOf('receipt key').toString('hex'), receiptKey: RECEIPT_KEY.publicKey, statements: [...signed, ...invalid] };
}

function payouts() {
  const member = (n: number) => ({ paymentId: uuidOf(`payment ${n}`), wallet: addressOf(`wallet ${n}`), mint: addressOf('reward') });
  const members = [
    { ...member(1), round: tied.round, place: 1, amount: '3000000' },
    { ...member(2), round: tied.round, place: 2, amount: '18446744073709551615' },
    { ...member(3), round: null, place: null, amount: '1' },
  ];
  const batches = [members, members.toReversed(), members.slice(0, 1)];
  return batches.map((list, i) => ({ members: list, hash: membersHash(list), memo: payoutMemo(uuidOf(`batch ${i}`), membersHash(list)) }));
}

function accounts() {
  const draws = drawsOf(QUICKNET);
  const { commitment: landed } = finished(tied, ROUNDS[0]?.entries ?? [], quicknet);
  const { address, bump } = commitmentAddress(PROGRAM, draws.address, tied.round);
  const { beaconRound, slot, leaf } = landed;
  const commitment = { bump, round: tied.round, beaconRound, slot, time: Date.parse(landed.at) / 1_000, leaf, draws: draws.address };
  const code = Buffer.concat([bytesOf('the code of the program'), Buffer.alloc(3)]);
  return {
    program: PROGRAM,
    draws: { ...draws, data: toHex(encodeDraws(draws)) },
    developmentDraws: { data: toHex(encodeDraws({ ...draws, isDevelopment: true, margin: 0, window: 1 })) },
    commitment: { address, ...commitment, data: toHex(encodeCommitment(commitment)) },
    addresses: [0, 1, 2, 3, 4].map((i) => ({ founder: addressOf(`founder ${i}`), ...drawsAddress(PROGRAM, addressOf(`founder ${i}`)) })),
    programs: { bytes: code.toString('hex'), hash: programHash(code) },
    deployed: programs(),
    tokenAccounts: tokenAccounts(),
  };
}

function beacon() {
  const message = (number: number) => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64BE(BigInt(number));
    return createHash('sha256').update(bytes).digest('hex');
  };
  const negated = Buffer.from(QUICKNET_SIGNATURE, 'hex');
  negated[0] = (negated[0] ?? 0) ^ 0x20;
  const cases = [
    { chain: 'quicknet', round: QUICKNET_ROUND, signature: QUICKNET_SIGNATURE },
    { chain: 'quicknet', round: QUICKNET_ROUND + 1, signature: QUICKNET_SIGNATURE },
    { chain: 'quicknet', round: QUICKNET_ROUND, signature: negated.toString('hex') },
    { chain: 'quicknet', round: QUICKNET_ROUND, signature: `c0${'00'.repeat(47)}` },
    ...[1, 2, 3].map((number) => ({ chain: 'test', round: number, signature: signatureOf(number) })),
    { chain: 'test', round: 2, signature: signatureOf(3) },
  ];
  const chains: Readonly<Record<string, BeaconChain>> = { quicknet: QUICKNET, test: CHAIN };
  const of = (name: string) => chains[name] ?? CHAIN;
  const signatures = cases.map(({ chain, round: number, signature }) => {
    const valid = verifySignature(of(chain), number, signature);
    return {
      chain,
      round: number,
      time: instantOf(timeOf(of(chain), number)),
      message: message(number),
      signature,
      valid,
      randomness: valid ? randomnessOf(signature) : null,
    };
  });
  return { chains, signatures };
}

function numbers() {
  const shapes = [
    [5, 50],
    [1, 1],
    [6, 49],
    [20, 255],
  ] as const;
  const derived = shapes.map(([picks, range], i) => {
    const [entryId, wallet] = [uuidOf(`entry ${i}`), addressOf(`wallet ${i}`)];
    return { entryId, wallet, picks, range, numbers: derivedNumbers(entryId, wallet, { picks, range }) };
  });
  // With the bound 50 the raw values from 2^64 − 16 on are rejected.
  const raws = ['18446744073709551615', '18446744073709551600', '18446744073709551599', '50', '49'];
  const integers = integersFrom((counter) => BigInt(raws[counter] ?? '0'));
  return { derived, rejection: { raws, draws: [50, 50, 50].map((bound) => integers(bound)) } };
}

function epoch() {
  const day = 20_777;
  const wallets = Array.from({ length: 7 }, (_, i) => ({ wallet: addressOf(`wallet ${i}`), amount: BigInt(1_000_000 * (i + 1)) }));
  const leaves = wallets.map(({ wallet, amount }, index) => leafHash({ epoch: day, index, wallet: bs58.decode(wallet), amount }));
  const tree = buildTree(Buffer.concat(leaves));
  const allocations = [
    { pool: 1_000n, cap: null, dust: 0n, points: [1n, 1n, 1n] },
    { pool: 1_000n, cap: 400n, dust: 0n, points: [700n, 200n, 100n, 0n, -5n] },
    { pool: 1_000_000n, cap: 100_000n, dust: 5_000n, points: [50_000n, 40_000n, 7n, 7n, 7n, 100n] },
    { pool: 10n, cap: 1n, dust: 0n, points: [5n, 5n, 5n] },
    { pool: 100n, cap: null, dust: 0n, points: [7n, 7n, 7n, 7n, 7n, 7n, 7n] },
  ].map(({ points, ...given }) => {
    const owners = points.map((_, i) => addressOf(`wallet ${i}`)).toSorted();
    const { amounts, total } = allocate(given, BigInt64Array.from(points), (i) => owners[i] ?? '');
    const text = { pool: String(given.pool), cap: given.cap === null ? null : String(given.cap), dust: String(given.dust) };
    return {
      ...text,
      wallets: points.map((own, i) => ({ wallet: owners[i], points: Number(own), amount: String(amounts[i]) })),
      total: String(total),
    };
  });
  return {
    epoch: day,
    leaves: wallets.map(({ wallet, amount }, index) => {
      const proof = proofOf(tree, index).map(toHex);
      return { index, wallet, amount: String(amount), leaf: toHex(leaves[index] ?? new Uint8Array()), proof };
    }),
    root: toHex(rootOf(tree)),
    account: epochAccount(
      day,
      wallets.map(({ amount }) => amount),
      toHex(rootOf(tree)),
    ),
    allocations,
  };
}

/** Returns JSON texts with their canonical texts. */
function json() {
  const { numbers: list, texts } = jsonTexts();
  return { numbers: list, texts: texts.map((text) => ({ text, canonical: canonicalize(JSON.parse(text)) })) };
}

/** Returns the content of each file. */
export function vectors(): Readonly<Record<string, unknown>> {
  return {
    'parameters.json': [tied, legacyParameters(), chatParameters({ entryRules: { ...NO_ENTRY_RULES, linkedAccount: 'x' } })].map((parameters) => ({
      ...{ parameters, canonical: canonicalize(parameters), hash: parametersHash(parameters) },
    })),
    'entries.json': entriesOf(tied, 3, 3, random()).map((entry) => ({
      round: tied.round,
      entry,
      line: entryLine(entry),
      leaf: entryLeaf(tied.round, entry),
    })),
    'rounds.json': ROUNDS.map(round),
    'statements.json': statements(),
    'payouts.json': payouts(),
    'transactions.json': transactions(),
    'json.json': json(),
    'accounts.json': accounts(),
    'beacon.json': beacon(),
    'numbers.json': numbers(),
    'epochs.json': epoch(),
    'points.json': epochPoints(),
  };
}

if (import.meta.main) {
  mkdirSync(FOLDER, { recursive: true });
  for (const [file, content] of Object.entries(vectors())) writeFileSync(join(FOLDER, file), `${JSON.stringify(content, null, 2)}\n`);
  spawnSync(join(FOLDER, '../../node_modules/.bin/biome'), ['format', '--write', FOLDER], { stdio: 'inherit' });
}
