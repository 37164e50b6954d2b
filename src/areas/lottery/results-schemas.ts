import { z } from 'zod';
import { Audit } from '#lib/draw/audit.ts';
import { Hash, Millisecond, RoundId, Units } from '#lib/draw/bytes.ts';
import { PageQuery } from '#lib/paging.ts';
import { Count, Instant, Wallet } from '#lib/scalars.ts';

const SIGNATURE = '5h6xBEauJ3PK6SWCZ1PGjBvj8vDdWG3KpwATGy1ARAXFSDwt8GFXM7W5Ncn16wmqokgpiKRLuS83KUxyZyv2sUYv';
const NUMBERS = [3, 7, 12, 30, 41];

const EntryId = RoundId.meta({ description: 'The entry.' });
const Numbers = z.array(Count).meta({ description: 'Ascending; none for a ticket.', example: NUMBERS });
const Index = Count.meta({ description: 'Its place in the order in which entries were accepted, from 0 on.', example: 258 });

export const EntryPath = z.object({ id: RoundId.meta({ description: 'The round.' }), entryId: EntryId });
export const EntriesQuery = PageQuery.extend({
  format: z.enum(['json', 'ndjson'], 'must be json or ndjson').default('json').meta({
    description: 'ndjson: all entries, one a line, as they are published: `limit` and `offset` do not matter. From closing on.',
  }),
});

/** What of an entry is published, and in its leaf. */
const published = {
  index: Index,
  wallet: Wallet,
  numbers: Numbers,
  source: z.string().meta({ description: 'Where it came from: the service’s own chat, a bridged one, the chain.', example: 'coinop' }),
  messageId: z.string().meta({ description: 'The message there; a transaction’s signature for a ticket that was paid for.', example: 'ÄÖ-17' }),
  at: Millisecond,
};
export const EntryView = z
  .strictObject({ id: EntryId, ...published, leaf: Hash.meta({ description: 'Its hash in the tree over all entries.' }) })
  .meta({ id: 'RoundEntry' });

export const RootView = z
  .strictObject({
    root: Hash,
    count: Count.meta({ description: 'How many entries are under it.', example: 1234 }),
    algorithm: z.strictObject({ hash: z.literal('sha256'), leaf: z.string(), node: z.string(), oddNode: z.string() }).meta({
      example: {
        hash: 'sha256',
        leaf: 'sha256(0x02 ‖ sha256("coinop/entry/1") ‖ round id ‖ index u32 LE ‖ …)',
        node: 'sha256(min ‖ max)',
        oddNode: 'moves up as it is',
      },
    }),
  })
  .meta({ id: 'EntriesRoot' });

/** How an entry's leaf, and the tree over them, are made. */
export const ALGORITHM: z.input<typeof RootView>['algorithm'] = {
  hash: 'sha256',
  leaf:
    'sha256(0x02 ‖ sha256("coinop/entry/1") ‖ round id, 16 bytes ‖ index u32 LE ‖ wallet, 32 bytes ‖ how many numbers u8 ‖ the numbers ascending, u8 each ‖ message); ' +
    'message = sha256 over source, messageId and u64 LE of the time in ms since 1970, each after its length in bytes as u32 LE',
  node: 'sha256(min ‖ max)',
  oddNode: 'moves up as it is',
};

export const EntryProofView = z
  .strictObject({
    entry: z.strictObject({ id: EntryId, ...published }),
    index: Index,
    leaf: Hash,
    proof: z.array(Hash).meta({ description: 'The siblings from the leaf up. Where a node moves up by itself it has none.' }),
    root: Hash,
  })
  .meta({ id: 'EntryProof' });

export const RoundAudit = Audit.meta({
  id: 'RoundAudit',
  description:
    'Everything that went into a draw and came out of it; later parts are null until the round has come that far. With the entries it is ' +
    'all that `bin/verify-round` needs besides the chain and the beacon’s key.',
});

const Drawn = z
  .strictObject({
    counter: Count,
    bound: Count.meta({ description: 'It was drawn from 0 to bound − 1.', example: 50 }),
    raw: z.string().meta({ description: 'A u64: value = raw mod bound.', example: '5758698256769163447' }),
    rejected: z.array(z.string()).meta({ description: 'Raw values before it, from 2^64 − (2^64 mod bound) on.', example: [] }),
    value: Count,
  })
  .meta({ id: 'DrawnInteger' });

export const WinningNumbersView = z
  .strictObject({
    round: RoundId,
    numbers: z.array(Count).meta({ description: 'Ascending.', example: NUMBERS }),
    proof: z.strictObject({
      seed: Hash,
      label: z.string().meta({ description: 'raw = u64 LE of HMAC-SHA256(seed, label ‖ counter u64 LE).', example: 'numbers/1' }),
      draws: z.array(Drawn),
      drawn: z.array(Count).meta({ description: 'In the order drawn: Fisher–Yates over 1 to the range.', example: [30, 3, 41, 7, 12] }),
      seedFrom: z
        .strictObject({
          label: z.literal('coinop/draw/1'),
          round: RoundId,
          entriesRoot: Hash,
          parametersHash: Hash,
          chainHash: Hash,
          beaconRound: Count.meta({ example: 12_345_678 }),
          randomness: Hash,
          blockhash: z.string().meta({ example: 'EkSnNWid2cvwEVnVx9aBqawnmiCNiDgp3gUdkDPTKN1N' }),
        })
        .meta({ description: 'seed = SHA-256 over these in this order, each after its length in bytes as u32 LE; the beacon’s round is u64 LE.' }),
      beacon: z.strictObject({
        publicKey: z.string().meta({ description: 'Of the drand chain, on G2.' }),
        signature: z.string().meta({ description: 'Of its round, on G1: randomness = sha256(signature).' }),
        dueAt: Instant,
      }),
      commitment: z.strictObject({
        sequence: Count.meta({ example: 17 }),
        memo: z.string().meta({ description: 'What was bound on the chain before the beacon’s round existed.' }),
        signature: z.string().meta({ description: 'Of its transaction.', example: SIGNATURE }),
        slot: Count.meta({ example: 300_000_000 }),
        blockTime: Instant,
      }),
    }),
  })
  .meta({ id: 'WinningNumbers' });

const Place = Count.meta({ description: '1 is first.', example: 1 });
const WonPrize = z
  .strictObject({
    amount: Units.meta({ description: 'Base units.' }),
    mint: z.enum(['reward', 'usdc']),
    address: Wallet.meta({ description: 'Of the mint.' }),
  })
  .meta({ id: 'WonPrize' });

export const WinnerView = z
  .strictObject({
    place: Place,
    wallet: Wallet,
    prize: WonPrize,
    entryId: EntryId,
    entryIndex: Index,
    matches: Count.meta({ description: 'How many of the entry’s numbers were drawn.', example: 4 }),
  })
  .meta({ id: 'Winner' });

export const PAYOUT_STATUSES = ['none', 'pending', 'completed'] as const;
export const PayoutsOfRound = z
  .strictObject({
    round: RoundId,
    status: z.enum(PAYOUT_STATUSES).meta({ description: 'completed: every prize is paid for good. none: nobody won.', example: 'completed' }),
    signatures: z.array(z.string()).meta({ description: 'The transactions that paid prizes, by place.', example: [SIGNATURE] }),
    payouts: z.array(
      z.strictObject({
        place: Place,
        wallet: Wallet,
        prize: WonPrize,
        paymentId: z.string().meta({ example: '4dc1b0de-7d3f-8a5c-9f0e-1f2d3c4b5a69' }),
        status: z.string().meta({ description: 'As a payment’s: pending, batched, confirmed, completed, …', example: 'completed' }),
        signature: z.string().nullable().meta({ description: 'The transaction that paid it, from confirmed on.', example: SIGNATURE }),
        completedAt: Instant.nullable(),
      }),
    ),
  })
  .meta({ id: 'RoundPayouts' });

export const FinalizedView = z
  .strictObject({
    id: RoundId,
    title: z.string().meta({ example: 'Friday night draw' }),
    numbers: z.array(Count).meta({ example: NUMBERS }),
    entries: Count.meta({ example: 1234 }),
    winners: Count.meta({ description: 'How many wallets won.', example: 3 }),
    prizes: z.array(z.strictObject({ amount: Units, mint: z.enum(['reward', 'usdc']) })),
    sequence: Count.meta({ description: 'Of its commitment.', example: 17 }),
    endedAt: Instant,
  })
  .meta({ id: 'FinalizedRound' });

const told = (description: string) => Wallet.nullable().meta({ description });
export const KeysView = z
  .strictObject({
    receipts: z.array(z.strictObject({ id: z.string().meta({ example: '9xQeWvG8' }), algorithm: z.literal('ed25519'), publicKey: Wallet })).meta({
      description: 'The keys that sign receipts of entries, base58.',
    }),
    committer: told('Whose memos are the commitments of rounds; null where this process was not told.'),
    formerCommitters: z.array(Wallet).meta({
      description: 'Whose memos were, the oldest first. Each key has a sequence of its own, and counts until the first commitment of the next.',
      example: [],
    }),
    treasury: told('Whose tokens prizes are paid from.'),
    mints: z.strictObject({ reward: told('The arcade’s own token.'), usdc: told('Stablecoin.') }),
    beacon: z.strictObject({
      chainHash: Hash.meta({ description: 'Of the drand chain that decides draws.' }),
      publicKey: z.string(),
      urls: z.array(z.string()).meta({ description: 'Where it may be asked.', example: ['https://api.drand.sh'] }),
    }),
  })
  .meta({ id: 'Keys', description: 'What a stranger pins once, and checks everything else against.' });
