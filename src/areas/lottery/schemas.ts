import { z } from 'zod';
import { VoidReason } from '#lib/draw/audit.ts';
import { Hash, RoundId, Units } from '#lib/draw/bytes.ts';
import { RoundParameters } from '#lib/draw/parameters.ts';
import { SignedAnnouncement, SignedClosed } from '#lib/draw/statements.ts';
import { Count, Instant, Wallet } from '#lib/scalars.ts';
import { ROUND_STATES } from './entities.ts';
import type { RoundRow } from './rows.ts';
import { EntryRuleTerms, PrizeTerms } from './terms.ts';

const ID = '0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a';

/** Identifies a round in a path. */
export const RoundPath = z.object({ id: RoundId.meta({ description: 'The round’s id.', example: ID }) });

const Status = z.enum(ROUND_STATES).meta({
  description:
    'pending: created, not started. active: accepts entries. closing: entries are frozen, their commitment is not final yet. ' +
    'committed: the commitment is finalized on the chain; the draw waits for the beacon. finalized: drawn. void: ended without entries.',
  example: 'finalized',
});
const Commitment = z
  .strictObject({
    account: Wallet.meta({ description: 'Address of the commitment account. A round has exactly one.' }),
    leaf: Hash.meta({ description: 'Leaf of the round: the value that the account contains.' }),
    slot: Count.meta({ example: 300_000_000 }),
    signature: z.string().nullable().meta({ description: 'Signature of the transaction that created the account; null when it is not known.' }),
    beaconRound: Count.meta({ description: 'The beacon round that decides the draw.', example: 12_345_678 }),
    dueAt: Instant,
  })
  .meta({ id: 'RoundCommitment' });

/** Response fields that rounds of both kinds have. */
const common = {
  id: RoundId.meta({ example: ID }),
  status: Status,
  entries: Count.meta({ description: 'Number of accepted entries.', example: 1234 }),
  opensAt: Instant.nullable(),
  closesAt: Instant.nullable().meta({ description: 'Closing time; the time at which the round was closed, if its creator closed it early.' }),
  parameters: RoundParameters.nullable().meta({ description: 'All rules of the draw, frozen when the round opens; null before.' }),
  parametersHash: Hash.nullable().meta({ description: 'Hash of the parameters. Every receipt contains it.' }),
  announcement: SignedAnnouncement.nullable().meta({ description: 'The signed announcement of the round; null before the round opens.' }),
  closed: SignedClosed.nullable().meta({ description: 'The signed statement about the entries at the close; null before.' }),
  runningHash: Hash.nullable().meta({ description: 'Running hash after the last entry; null before the round opens.' }),
  entriesRoot: Hash.nullable().meta({ description: 'Root of the Merkle tree over all entries; null before they are frozen.' }),
  commitment: Commitment.nullable(),
  overdue: z.boolean().meta({ description: 'The beacon round was due more than `drawWithinSec` ago, and the round is not drawn yet.' }),
  voidReason: VoidReason.nullable(),
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
    entryRules: EntryRuleTerms,
  })
  .meta({ id: 'ChatRound' });
export type ChatRoundView = z.output<typeof ChatRoundView>;

export const LegacyRoundView = z
  .strictObject({
    ...common,
    createdBy: z.string(),
    prizePool: Units.meta({ description: 'Sum of the prices of all confirmed tickets, in base units of the stablecoin.', example: '12000000' }),
    ticketPrice: Units.meta({ description: 'Price in base units of the stablecoin; "0" means free.', example: '1000000' }),
    maxTickets: Count.nullable(),
    entryRules: EntryRuleTerms,
    payTo: z.strictObject({ mint: z.string(), treasury: z.string(), tokenAccount: z.string(), memo: z.string() }).nullable().meta({
      description:
        'Where to pay for a ticket: transfer exactly the price, in this mint, to this token account, with this memo. null when tickets are free.',
    }),
    winningTicket: Count.nullable(),
    winner: z.string().nullable(),
  })
  .meta({ id: 'LegacyRound' });
export type LegacyRoundView = z.output<typeof LegacyRoundView>;

/** Returns the response fields of rounds of both kinds. */
export function presentCommon(row: RoundRow) {
  const { id, state, entries, opensAt, closesAt, root, runningHash, commitment, beaconRound, beaconDueAt, overdue, voidReason } = row;
  const { parameters, parametersHash, announcement, closed } = row;
  return {
    ...{ id, status: state, entries, opensAt, closesAt, entriesRoot: root, overdue, voidReason },
    ...{ parameters, parametersHash, announcement, closed, runningHash },
    commitment: commitment === null ? null : { ...commitment, beaconRound: beaconRound ?? 0, dueAt: beaconDueAt ?? '' },
    ...{ createdAt: row.createdAt, endedAt: row.endedAt },
  };
}

/** Returns the response body of a chat round. */
export function presentChatRound(row: RoundRow): z.input<typeof ChatRoundView> {
  return {
    ...presentCommon(row),
    title: row.title ?? '',
    picks: row.picks ?? 0,
    range: row.range ?? 0,
    prizes: (row.prizes ?? []).map((prize) => ({ ...prize })),
    durationSec: row.durationSec ?? 0,
    maxEntriesPerWallet: row.maxEntriesPerWallet ?? 0,
    entryRules: { ...row.entryRules },
  };
}
