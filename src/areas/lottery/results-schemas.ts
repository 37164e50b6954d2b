import { z } from 'zod';
import { PublishedAudit } from '#lib/draw/audit.ts';
import { Hash, Millisecond, RoundId, Units } from '#lib/draw/bytes.ts';
import { PayoutMember } from '#lib/draw/payout.ts';
import { PageQuery } from '#lib/paging.ts';
import { Count, Instant, Wallet } from '#lib/scalars.ts';

const SIGNATURE = '5h6xBEauJ3PK6SWCZ1PGjBvj8vDdWG3KpwATGy1ARAXFSDwt8GFXM7W5Ncn16wmqokgpiKRLuS83KUxyZyv2sUYv';
const NUMBERS = [3, 7, 12, 30, 41];

const EntryId = RoundId.meta({ description: 'The entry’s id.' });
const Numbers = z.array(Count).meta({ description: 'The numbers in ascending order; empty for a ticket.', example: NUMBERS });
const Index = Count.meta({ description: 'Position in the order of acceptance, starting at 0.', example: 258 });

export const EntryPath = z.object({ id: RoundId.meta({ description: 'The round’s id.' }), entryId: EntryId });
export const EntriesQuery = PageQuery.extend({
  format: z.enum(['json', 'ndjson'], 'must be json or ndjson').default('json').meta({
    description: 'ndjson: all entries as a file, one per line; `limit` and `offset` are ignored. Available when the round is closed.',
  }),
});

/** The published fields of an entry. The entry's leaf hash covers all these fields. */
const published = {
  index: Index,
  wallet: Wallet,
  numbers: Numbers,
  source: z.string().meta({
    description: 'The origin: `chat` (the service’s own chat), the name of a bridged chat, `chain` (a paid ticket) or `ticket` (a free ticket).',
    example: 'chat',
  }),
  messageId: z
    .string()
    .meta({ description: 'Id of the message at the origin. For a paid ticket, the signature of its transaction.', example: 'ÄÖ-17' }),
  at: Millisecond,
};
export const EntryView = z
  .strictObject({ id: EntryId, ...published, leaf: Hash.meta({ description: 'The entry’s leaf hash in the Merkle tree.' }) })
  .meta({ id: 'RoundEntry' });

export const RootView = z
  .strictObject({
    root: Hash,
    count: Count.meta({ description: 'Number of entries under the root.', example: 1234 }),
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

/** Describes how the leaf of an entry and the tree are computed. */
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
    proof: z.array(Hash).meta({ description: 'Sibling hashes from the leaf to the root. A node that moves up alone has no sibling.' }),
    root: Hash,
  })
  .meta({ id: 'EntryProof' });

export const RoundAudit = PublishedAudit.required({ entryHashes: true }).meta({
  id: 'RoundAudit',
  description:
    'All inputs and results of a draw. Later parts are null until the round reaches them. `bin/verify-round` needs this document, the entries, ' +
    'the chain, and the beacon’s public key.',
});

const Drawn = z
  .strictObject({
    counter: Count,
    bound: Count.meta({ description: 'The value is drawn from 0 to bound − 1.', example: 50 }),
    raw: z.string().meta({ description: 'A u64; value = raw mod bound.', example: '5758698256769163447' }),
    rejected: z
      .array(z.string())
      .meta({ description: 'Earlier raw values, rejected because they are at least 2^64 − (2^64 mod bound).', example: [] }),
    value: Count,
  })
  .meta({ id: 'DrawnInteger' });

export const WinningNumbersView = z
  .strictObject({
    round: RoundId,
    numbers: z.array(Count).meta({ description: 'The winning numbers in ascending order.', example: NUMBERS }),
    proof: z.strictObject({
      seed: Hash,
      label: z.string().meta({ description: 'raw = u64 LE of HMAC-SHA256(seed, label ‖ counter u64 LE).', example: 'numbers/1' }),
      draws: z.array(Drawn),
      drawn: z
        .array(Count)
        .meta({ description: 'The numbers in drawn order: a Fisher–Yates shuffle over 1 to `range`.', example: [30, 3, 41, 7, 12] }),
      seedFrom: z
        .strictObject({
          label: z.literal('coinop/draw/2'),
          round: RoundId,
          leaf: Hash.meta({ description: 'Leaf of the round, as its commitment contains it.' }),
          chainHash: Hash,
          beaconRound: Count.meta({ example: 12_345_678 }),
          randomness: Hash,
          blockhash: z.string().meta({ example: 'EkSnNWid2cvwEVnVx9aBqawnmiCNiDgp3gUdkDPTKN1N' }),
        })
        .meta({
          description:
            'The inputs of the seed: SHA-256 over these values in this order, each preceded by its length in bytes as u32 LE; `round` has 16 bytes, hashes have 32 bytes, `beaconRound` is a u64 LE.',
        }),
      beacon: z.strictObject({
        publicKey: z.string().meta({ description: 'Public key of the drand chain, on G2.' }),
        signature: z.string().meta({ description: 'The beacon’s signature of the round, on G1; randomness = sha256(signature).' }),
        dueAt: Instant,
      }),
      commitment: z.strictObject({
        account: Wallet.meta({ description: 'Address of the commitment account, which existed before the beacon round.' }),
        slot: Count.meta({ example: 300_000_000 }),
        at: Instant.meta({ description: 'Time of the commitment by the chain’s clock.' }),
      }),
    }),
  })
  .meta({ id: 'WinningNumbers' });

const WinnerPlace = Count.meta({ description: 'The winner’s place; 1 is the first.', example: 1 });
const WonPrize = z
  .strictObject({
    amount: Units.meta({ description: 'The amount in base units.' }),
    mint: z.enum(['reward', 'usdc']),
    address: Wallet.meta({ description: 'Address of the mint.' }),
  })
  .meta({ id: 'WonPrize' });

export const WinnerView = z
  .strictObject({
    place: WinnerPlace,
    wallet: Wallet,
    prize: WonPrize,
    entryId: EntryId,
    entryIndex: Index,
    matches: Count.meta({ description: 'Number of the entry’s numbers that were drawn.', example: 4 }),
  })
  .meta({ id: 'Winner' });

const PAYOUT_STATUSES = ['none', 'pending', 'completed'] as const;
export const PayoutsOfRound = z
  .strictObject({
    round: RoundId,
    status: z
      .enum(PAYOUT_STATUSES)
      .meta({ description: 'completed: the payments of all prizes are finalized. none: the round has no winner.', example: 'completed' }),
    signatures: z.array(z.string()).meta({ description: 'Signatures of the transactions that paid the prizes, by place.', example: [SIGNATURE] }),
    payouts: z.array(
      z.strictObject({
        place: WinnerPlace,
        wallet: Wallet,
        prize: WonPrize,
        amount: Units.meta({ description: 'The amount of the prize in base units.' }),
        mint: Wallet.meta({ description: 'Address of the mint of the prize.' }),
        paymentId: z.string().meta({ example: '4dc1b0de-7d3f-8a5c-9f0e-1f2d3c4b5a69' }),
        status: z.string().meta({ description: 'Status of the payment: pending, batched, confirmed, completed, …', example: 'completed' }),
        signature: z.string().nullable().meta({
          description: 'Signature of the finalized transaction that pays the prize; null before, and when another service pays.',
          example: SIGNATURE,
        }),
        batch: RoundId.nullable().meta({ description: 'Id of the batch that this transaction pays.' }),
        completedAt: Instant.nullable(),
      }),
    ),
    batches: z.array(z.strictObject({ id: RoundId, members: z.array(PayoutMember.meta({ id: 'PayoutMember' })) })).meta({
      description:
        'All members of the named batches, also payments that are no prize of this round. The i-th member is the i-th token transfer of the transaction, whose memo ' +
        '`coinop:payout:<batch>:<hash>` contains the hash over the members.',
    }),
  })
  .meta({ id: 'RoundPayouts' });

export const FinalizedView = z
  .strictObject({
    id: RoundId,
    title: z.string().meta({ example: 'Friday night draw' }),
    numbers: z.array(Count).meta({ example: NUMBERS }),
    entries: Count.meta({ example: 1234 }),
    winners: Count.meta({ description: 'Number of wallets that won.', example: 3 }),
    prizes: z.array(z.strictObject({ amount: Units, mint: z.enum(['reward', 'usdc']) })),
    endedAt: Instant,
  })
  .meta({ id: 'FinalizedRound' });

const AddressOrNull = (description: string) => Wallet.nullable().meta({ description });
export const KeysView = z
  .strictObject({
    drawsProgram: AddressOrNull('The program that accepts the commitments; null when this process has no such setting.'),
    draws: AddressOrNull('The draws account: it names the beacon, the committer and the receipt key. All rounds name it, and it never changes.'),
    receiptKey: Wallet.meta({ description: 'The ed25519 public key of receipts and of the other statements about rounds.' }),
    committer: AddressOrNull('The key that signs the commitments; null when this process has no such setting.'),
    treasury: AddressOrNull('The wallet whose tokens pay the prizes.'),
    mints: z.strictObject({ reward: AddressOrNull('Mint of the arcade’s own token.'), usdc: AddressOrNull('Mint of the stablecoin.') }),
    beacon: z.strictObject({
      chainHash: Hash.meta({ description: 'Hash of the drand chain that decides the draws.' }),
      publicKey: z.string(),
      urls: z.array(z.string()).meta({ description: 'URLs that serve the beacon.', example: ['https://api.drand.sh'] }),
    }),
  })
  .meta({ id: 'Keys', description: 'Public keys and addresses. A verifier stores them once and checks all results against them.' });
