import { z } from 'zod';
import { VoidReason } from '#lib/draw/audit.ts';
import { Hash, RoundId, Units } from '#lib/draw/bytes.ts';
import { MOST_RANGE } from '#lib/draw/parameters.ts';
import { Count, Instant, line } from '#lib/scalars.ts';
import { ROUND_STATES, type RoundRow } from './rows.ts';

const ID = '0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a';
const DAY_SEC = 86_400;

/** Identifies a round in a path. */
export const RoundPath = z.object({ id: RoundId.meta({ description: 'The round.', example: ID }) });

export const PrizeTerms = z
  .strictObject({
    amount: Units.refine((text) => text !== '0', 'must be at least 1').meta({ description: 'Base units.', example: '5000000' }),
    mint: z.enum(['reward', 'usdc']).meta({ description: 'The arcade’s own token, or stablecoin.', example: 'usdc' }),
  })
  .meta({ id: 'Prize' });

/** How a chat round is described. */
export const ChatRoundTerms = z
  .strictObject({
    title: line(120).meta({ example: 'Friday night draw' }),
    picks: z.int().min(1).max(20).default(5).meta({ description: 'How many numbers an entry has, and are drawn.' }),
    range: z.int().min(1).max(MOST_RANGE).default(50).meta({ description: 'Numbers are 1 to this.' }),
    prizes: z.array(PrizeTerms).min(1).max(100).meta({ description: 'The k-th winner gets the k-th.' }),
    durationSec: z
      .int()
      .min(1)
      .max(30 * DAY_SEC)
      .meta({ description: 'How long entries are accepted.', example: 600 }),
    maxEntriesPerWallet: z.int().min(1).max(1_000).default(1),
  })
  .refine(({ picks, range }) => picks <= range, { path: ['picks'], error: 'must not exceed range' })
  .meta({ id: 'ChatRoundTerms' });
export type ChatRoundTerms = z.output<typeof ChatRoundTerms>;

const Status = z.enum(ROUND_STATES).meta({
  description:
    'pending: described. active: takes entries. closing: entries are frozen and go into a commitment. committed: it is final on the chain, and the beacon decides. ' +
    'finalized: drawn. void: over without a draw.',
  example: 'finalized',
});
const Commitment = z
  .strictObject({
    sequence: Count.meta({ example: 17 }),
    signature: z.string().meta({ description: 'Of the transaction whose memo it is.' }),
    hash: Hash,
    beaconRound: Count.meta({ description: 'The beacon’s round that decides.', example: 12_345_678 }),
    dueAt: Instant,
  })
  .meta({ id: 'RoundCommitment' });

/** What rounds of both kinds have. */
const common = {
  id: RoundId.meta({ example: ID }),
  status: Status,
  entries: Count.meta({ description: 'How many were accepted.', example: 1234 }),
  opensAt: Instant.nullable(),
  closesAt: Instant.nullable(),
  entriesRoot: Hash.nullable().meta({ description: 'Root of the tree over all entries; null before they are frozen.' }),
  commitment: Commitment.nullable(),
  overdue: z.boolean().meta({ description: 'The beacon’s round is an hour past, and nothing is drawn yet.' }),
  voidReason: VoidReason.nullable(),
  predecessor: RoundId.nullable().meta({ description: 'The void round whose entries these are.' }),
  successor: RoundId.nullable().meta({ description: 'The round that goes on with the entries of this void one.' }),
  createdAt: Instant,
  endedAt: Instant.nullable(),
};

export const ChatRoundView = z
  .strictObject({
    ...common,
    title: z.string(),
    picks: Count,
    range: Count,
    prizes: z.array(PrizeTerms),
    durationSec: Count,
    maxEntriesPerWallet: Count,
  })
  .meta({ id: 'ChatRound' });
export type ChatRoundView = z.output<typeof ChatRoundView>;

export const LegacyRoundView = z
  .strictObject({
    ...common,
    createdBy: z.string(),
    prizePool: Units.meta({ description: 'The price of all confirmed tickets, stablecoin base units.', example: '12000000' }),
    ticketPrice: Units.meta({ description: 'Stablecoin base units; "0": free.', example: '1000000' }),
    maxTickets: Count.nullable(),
    payTo: z
      .strictObject({ mint: z.string(), treasury: z.string(), tokenAccount: z.string(), memo: z.string() })
      .nullable()
      .meta({ description: 'How a ticket is paid: exactly the price, in this mint, to this account, with this memo. null where tickets are free.' }),
    winningTicket: Count.nullable(),
    winner: z.string().nullable(),
  })
  .meta({ id: 'LegacyRound' });
export type LegacyRoundView = z.output<typeof LegacyRoundView>;

/** What rounds of both kinds show. */
export function presentCommon(row: RoundRow) {
  const { id, state, entries, opensAt, closesAt, root, commitment, beaconRound, beaconDueAt, overdue, voidReason } = row;
  return {
    ...{ id, status: state, entries, opensAt, closesAt, entriesRoot: root, overdue, voidReason },
    commitment:
      commitment === null
        ? null
        : {
            ...{ sequence: commitment.sequence, signature: commitment.signature, hash: commitment.hash },
            ...{ beaconRound: beaconRound ?? 0, dueAt: beaconDueAt ?? '' },
          },
    ...{ predecessor: row.predecessor, successor: row.successor, createdAt: row.createdAt, endedAt: row.endedAt },
  };
}

/** A chat round as it is shown. */
export function presentChatRound(row: RoundRow): z.input<typeof ChatRoundView> {
  return {
    ...presentCommon(row),
    title: row.title ?? '',
    picks: row.picks ?? 0,
    range: row.range ?? 0,
    prizes: (row.prizes ?? []).map((prize) => ({ ...prize })),
    durationSec: row.durationSec ?? 0,
    maxEntriesPerWallet: row.maxEntriesPerWallet ?? 0,
  };
}
