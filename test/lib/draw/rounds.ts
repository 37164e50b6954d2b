import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto';
import bs58 from 'bs58';
import { Beacon } from '#dev/localnet/beacon/beacon.ts';
import { commitmentAddress, type DrawsAccount, drawsAddress } from '#lib/draw/accounts.ts';
import type { LandedCommitment } from '#lib/draw/audit.ts';
import { type BeaconChain, roundToCommit, SCHEME } from '#lib/draw/beacon-chain.ts';
import type { RoundFacts } from '#lib/draw/build.ts';
import type { Entry } from '#lib/draw/entry.ts';
import { type ChatParameters, type LegacyParameters, NO_ENTRY_RULES, parametersHash, type RoundParameters } from '#lib/draw/parameters.ts';
import { roundLeaf, summarize } from '#lib/draw/round-leaf.ts';
import { signStatement } from '#lib/draw/statements.ts';
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
/** A deterministic ed25519 key: its public key in base58, and its signatures. */
export function keyOf(name: string): { readonly publicKey: string; readonly sign: (bytes: Uint8Array) => Uint8Array } {
  const secret = createPrivateKey({
    key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), bytesOf(name)]),
    format: 'der',
    type: 'pkcs8',
  });
  const spki = createPublicKey(secret).export({ format: 'der', type: 'spki' });
  return { publicKey: bs58.encode(spki.subarray(-32)), sign: (bytes) => sign(null, bytes, secret) };
}

export const RECEIPT_KEY = keyOf('receipt key');
/** The program `draws`, and the address of the draws account of the tests. */
export const PROGRAM = addressOf('the program draws');
const DRAWS = drawsAddress(PROGRAM, addressOf('founder'));
export const TREASURY = addressOf('treasury');
export const GENESIS_HASH = addressOf('genesis');

const SHARED = {
  ...{ version: 2 as const, entryRules: NO_ENTRY_RULES, opensAt: OPENS_AT, closesAt: CLOSES_AT },
  ...{ leadSec: 180, commitWithinSec: 60, drawWithinSec: 300, payWithinSec: 3_600 },
  ...{ draws: DRAWS.address, treasury: TREASURY, genesisHash: GENESIS_HASH },
} as const;

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
  kind: 'chat',
  round: uuidOf('a chat round'),
  picks: 5,
  range: 50,
  prizes: [3, 2, 1].map((tokens, i) => ({ place: i + 1, amount: String(tokens * 1_000_000), mint: addressOf('reward') })),
  maxEntriesPerWallet: 3,
  ...SHARED,
  ...over,
});

export const legacyParameters = (over: Partial<LegacyParameters> = {}): LegacyParameters => ({
  kind: 'legacy',
  round: uuidOf('a legacy round'),
  ticketPrice: '2500000',
  mint: addressOf('usdc'),
  maxTickets: null,
  maxTicketsPerWallet: null,
  ...SHARED,
  ...over,
});

/** Returns `count` entries with random numbers, of `wallets` wallets in turn. */
export function entriesOf(parameters: RoundParameters, count: number, wallets: number, random: ReturnType<typeof randomGenerator>): Entry[] {
  const addresses = Array.from({ length: wallets }, (_, i) => addressOf(`wallet ${i}`));
  const opens = Date.parse(parameters.opensAt);
  const duration = Date.parse(parameters.closesAt) - opens - 1;
  return Array.from({ length: count }, (_, index) => ({
    index,
    wallet: addresses[index % wallets] ?? '',
    numbers: parameters.kind === 'chat' ? someNumbers(parameters.picks, parameters.range, random) : [],
    source: index % 3 === 0 ? 'coinop' : 'discord',
    messageId: `${index % 3 === 0 ? uuidOf(`message ${index}`) : `Zuruf ${index} 🎲`}`,
    at: new Date(opens + Math.floor((index * duration) / count)).toISOString(),
  }));
}

function someNumbers(picks: number, range: number, random: ReturnType<typeof randomGenerator>): number[] {
  const numbers = new Set<number>();
  while (numbers.size < picks) numbers.add(random.int(1, range));
  return [...numbers].sort((a, b) => a - b);
}

/** Returns the draws account whose draws use a beacon chain. */
export const drawsOf = (chain: BeaconChain, over: Partial<DrawsAccount> = {}): DrawsAccount & { readonly address: string } => ({
  ...{ address: DRAWS.address, bump: DRAWS.bump, isDevelopment: false, margin: 60, window: 300 },
  ...{ period: chain.period, genesis: chain.genesisTime, chainHash: chain.chainHash },
  ...{ founder: addressOf('founder'), committer: addressOf('committer'), receiptKey: RECEIPT_KEY.publicKey },
  ...over,
});

type FinishedRound = RoundFacts & { readonly commitment: LandedCommitment };

/** Returns the facts of a round that closed at `closesAt`, was signed two seconds later and landed another three seconds later. */
export function finished(
  parameters: RoundParameters,
  entries: readonly Entry[],
  { chain, signature }: { readonly chain: BeaconChain; readonly signature: (round: number) => string } = { chain: CHAIN, signature: signatureOf },
): FinishedRound {
  const { round, draws, opensAt, closesAt, leadSec } = parameters;
  const hash = parametersHash(parameters);
  const summary = summarize(round, hash, entries);
  const { root, count, runningHash } = summary;
  const closedAt = Date.parse(closesAt);
  const beaconRound = roundToCommit(chain, closedAt + 2_000, leadSec);
  const named = { draws, round, parametersHash: hash };
  const account = commitmentAddress(PROGRAM, draws, round).address;
  return {
    parameters,
    announcement: signStatement({ type: 'coinop/announcement/1', ...named, announcedAt: opensAt }, RECEIPT_KEY.sign),
    closed: signStatement({ type: 'coinop/closed/1', ...named, closedAt: closesAt, count, runningHash }, RECEIPT_KEY.sign),
    entries: summary,
    commitment: {
      ...{ account, beaconRound, slot: 300_000_000 + beaconRound, at: new Date(closedAt + 5_000).toISOString() },
      leaf: roundLeaf({ round, root: root ?? '', count, runningHash, parametersHash: hash, closedAt }),
      blockhash: addressOf(`block of ${round}`),
    },
    beacon: { chain, signature: signature(beaconRound) },
    void: null,
  };
}
