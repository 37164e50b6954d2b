import { createHash } from 'node:crypto';
import bs58 from 'bs58';
import { Beacon } from '#dev/localnet/beacon/beacon.ts';
import type { LandedCommitment } from '#lib/draw/audit.ts';
import { type BeaconChain, roundToCommit, SCHEME } from '#lib/draw/beacon-chain.ts';
import type { RoundFacts } from '#lib/draw/build.ts';
import { commitmentMemo, NO_PREVIOUS } from '#lib/draw/commitment.ts';
import { type Entry, entriesRoot } from '#lib/draw/entry.ts';
import { type ChatParameters, type LegacyParameters, parametersHash, type RoundParameters } from '#lib/draw/parameters.ts';
import type { randomGenerator } from '#test/support/areas/board-model.ts';

/** Returns deterministic pseudo-random bytes. */
export const bytesOf = (name: string) => createHash('sha256').update(name).digest();
export const addressOf = (name: string) => bs58.encode(bytesOf(name));
export function uuidOf(name: string): string {
  const digits = bytesOf(name).toString('hex');
  return [digits.slice(0, 8), digits.slice(8, 12), digits.slice(12, 16), digits.slice(16, 20), digits.slice(20, 32)].join('-');
}

const OPENS_AT = '2026-11-21T12:00:00.000Z';
const CLOSES_AT = '2026-11-21T13:00:00.000Z';
export const COMMITTER = addressOf('committer');
const TIMING = { opensAt: OPENS_AT, closesAt: CLOSES_AT, leadSec: 180, marginSec: 60 };

/** A test beacon, and its chain as the service configures it. */
export const beacon = new Beacon({ seed: bytesOf('beacon'), periodMs: 3_000, genesisTime: Date.parse('2026-11-01T00:00:00Z') / 1_000 });
const info = beacon.info();
export const CHAIN: BeaconChain = {
  chainHash: info.hash,
  scheme: SCHEME,
  publicKey: info.public_key,
  period: info.period,
  genesisTime: info.genesis_time,
  groupHash: info.groupHash,
  beaconId: info.metadata.beaconID,
};

/** Returns the beacon's signature of a published round. */
export function signatureOf(round: number): string {
  const answer = beacon.round(round, Number.MAX_SAFE_INTEGER);
  if (answer === null) throw new Error(`the test beacon has no round ${round}`);
  return answer.signature;
}

export const chatParameters = (over: Partial<ChatParameters> = {}): ChatParameters => ({
  version: 1,
  kind: 'chat',
  round: uuidOf('a chat round'),
  picks: 5,
  range: 50,
  prizes: [3, 2, 1].map((tokens) => ({ amount: String(tokens * 1_000_000), mint: addressOf('reward') })),
  maxEntriesPerWallet: 3,
  ...TIMING,
  ...over,
});

export const legacyParameters = (over: Partial<LegacyParameters> = {}): LegacyParameters => ({
  version: 1,
  kind: 'legacy',
  round: uuidOf('a legacy round'),
  ticketPrice: '2500000',
  mint: addressOf('usdc'),
  treasury: addressOf('treasury'),
  maxTickets: null,
  ...TIMING,
  ...over,
});

/** Returns `count` entries with random numbers, of `wallets` wallets in turn. */
export function entriesOf(parameters: RoundParameters, count: number, wallets: number, random: ReturnType<typeof randomGenerator>): Entry[] {
  const addresses = Array.from({ length: wallets }, (_, i) => addressOf(`wallet ${i}`));
  const opens = Date.parse(parameters.opensAt);
  return Array.from({ length: count }, (_, index) => ({
    index,
    wallet: addresses[index % wallets] ?? '',
    numbers: parameters.kind === 'chat' ? someNumbers(parameters.picks, parameters.range, random) : [],
    source: index % 3 === 0 ? 'coinop' : 'discord',
    messageId: `${index % 3 === 0 ? uuidOf(`message ${index}`) : `Zuruf ${index} 🎲`}`,
    at: new Date(opens + Math.floor((index * 3_599_999) / count)).toISOString(),
  }));
}

function someNumbers(picks: number, range: number, random: ReturnType<typeof randomGenerator>): number[] {
  const numbers = new Set<number>();
  while (numbers.size < picks) numbers.add(random.int(1, range));
  return [...numbers].sort((a, b) => a - b);
}

/** Returns a finished round, committed two seconds after the close in a block three seconds later. */
export function finished(
  parameters: RoundParameters,
  entries: readonly Entry[],
  over: { sequence?: number; previous?: string } = {},
): RoundFacts & {
  readonly commitment: LandedCommitment;
} {
  const signedAt = Date.parse(parameters.closesAt) + 2_000;
  const beaconRound = roundToCommit(CHAIN, signedAt, parameters.leadSec);
  const memo = commitmentMemo({
    sequence: 1,
    round: parameters.round,
    entriesRoot: entriesRoot(parameters.round, entries) ?? '',
    count: entries.length,
    parametersHash: parametersHash(parameters),
    chainHash: CHAIN.chainHash,
    beaconRound,
    previous: NO_PREVIOUS,
    ...over,
  });
  const commitment = {
    memo,
    committer: COMMITTER,
    signature: bs58.encode(Buffer.concat([bytesOf(memo), bytesOf(`${memo}, second half`)])),
    slot: 300_000_000 + beaconRound,
    blockhash: addressOf(`block of ${memo}`),
    blockTime: new Date(signedAt + 3_000).toISOString(),
  };
  return { parameters, entries, commitment, beacon: { chain: CHAIN, signature: signatureOf(beaconRound) }, void: null };
}
