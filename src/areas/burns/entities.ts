import { defineEntity } from '@mikro-orm/core';
import {
  bigint,
  boolean,
  byteText,
  checks,
  index,
  integer,
  numeric,
  oneOf,
  reference,
  smallint,
  text,
  timestamp,
  uuid,
  wallet,
} from '#platform/db/columns.ts';
import { REFUSALS } from './schemas.ts';

/** A row is the progress of the worker in the transaction history of a mint. */
export const BurnCursorsTable = defineEntity({
  name: 'BurnCursors',
  tableName: 'burn_cursors',
  properties: {
    mint: wallet().primary(),
    /** Slot of the newest signature that the worker knows. The worker has read each older signature, or a row of `burn_gaps` covers it. */
    slot: bigint(),
    /** Time at which the worker reads the newest part of the history again. */
    deepAt: timestamp(),
  },
});

/** A row is a burn event. A burn counts if `activatedAt` ≤ block time < `endsAt`. */
export const BurnEventsTable = defineEntity({
  name: 'BurnEvents',
  tableName: 'burn_events',
  properties: {
    id: uuid().primary(),
    title: text(),
    description: text().nullable(),
    mint: wallet(),
    /** Duration from the activation, seconds. */
    durationSec: integer(),
    /** The wallet that created the event. */
    createdBy: wallet(),
    createdAt: timestamp().defaultRaw('app_now()'),
    state: oneOf('pending', 'active', 'ended').default('pending'),
    activatedAt: timestamp().nullable(),
    endsAt: timestamp().nullable(),
    /** Time from which the list of burns is complete and fixed. */
    finalAt: timestamp().nullable(),
    /** Number of wallets with at least one burn. */
    participants: integer().default(0),
    /** Sum of all burns of the event, base units. */
    burned: numeric().default(0),
    /** Sums of the burns by source, base units: `referral`, `game` and `social`. */
    referral: numeric().default(0),
    game: numeric().default(0),
    social: numeric().default(0),
  },
  checks: checks(
    'ends_at >= activated_at',
    "((state = 'pending') = (activated_at is null)) and ((activated_at is null) = (ends_at is null))",
    "final_at is null or state = 'ended'",
    'duration_sec >= 3600 and duration_sec <= 2592000',
  ),
  indexes: [
    index("create index burn_events_begun on burn_events (activated_at desc) where state <> 'pending'"),
    index("create unique index burn_events_one_active on burn_events ((true)) where state = 'active'"),
    index("create index burn_events_ended on burn_events (mint, ends_at) where state = 'ended'"),
    index("create index burn_events_pending on burn_events (created_by, created_at) where state = 'pending'"),
    index("create index burn_events_watched on burn_events (mint) where state <> 'pending' and final_at is null"),
  ],
});

/** A row is a gap: signatures of a mint's transaction history that the worker has not read yet. */
export const BurnGapsTable = defineEntity({
  name: 'BurnGaps',
  tableName: 'burn_gaps',
  properties: {
    mint: wallet().primary(),
    /** The signatures of the gap are older than this signature. */
    before: byteText().primary(),
    /** Slot and block time of the signature `before`. */
    beforeSlot: bigint(),
    beforeTime: timestamp().nullable(),
    /** The gap goes back to this slot. */
    floor: bigint(),
    /** Time of the next attempt to read the gap. The worker sets a later time when no RPC node has the signatures. */
    nextAt: timestamp().defaultRaw('app_now()'),
  },
});

/**
 * A row counts the standings in one range of a board, so that the service computes a rank without counting all higher standings. A standing is counted
 * in the range with the lowest key (`amount`, `wallet`) that is equal to the standing or higher.
 */
export const BurnRangesTable = defineEntity({
  name: 'BurnRanges',
  tableName: 'burn_ranges',
  properties: {
    eventId: reference(BurnEventsTable, 'event_id').primary(),
    board: byteText().primary(),
    /** Amount of the upper bound of the range, base units; infinity in the highest range of a board. */
    amount: numeric().primary(),
    wallet: wallet().primary(),
    /** Number of standings in the range. */
    n: integer(),
  },
  checks: checks('n >= 0'),
});

/** A row is a transaction of a mint whose memo names no open event. It is read only to list its burns as refused. */
export const BurnRefusalCandidatesTable = defineEntity({
  name: 'BurnRefusalCandidates',
  tableName: 'burn_refusal_candidates',
  properties: {
    signature: byteText().primary(),
    mint: wallet(),
    slot: bigint(),
    /** Number of attempts to read the transaction. */
    tries: integer().default(0),
    /** Time from which a run may read the transaction. A run that leases the transaction sets a later time. */
    nextAt: timestamp().defaultRaw('app_now()'),
    foundAt: timestamp().defaultRaw('app_now()'),
    /** Time at which the transaction was read; null before. */
    readAt: timestamp().nullable(),
  },
  indexes: [
    index('create index burn_refusal_candidates_read on burn_refusal_candidates (read_at) where read_at is not null'),
    index('create index burn_refusal_candidates_unread on burn_refusal_candidates (mint, slot) where read_at is null'),
  ],
});

/** A row is a burn instruction that counts for no event. */
export const BurnRefusalsTable = defineEntity({
  name: 'BurnRefusals',
  tableName: 'burn_refusals',
  properties: {
    signature: byteText().primary(),
    /** Position of the instruction among the instructions of its transaction. */
    index: smallint().primary(),
    wallet: wallet(),
    mint: wallet(),
    /** Base units. */
    amount: numeric(),
    /** The event that the memo names, which may not exist; null when no valid memo names an event. */
    eventId: uuid().nullable(),
    reason: oneOf(...REFUSALS),
    slot: bigint(),
    blockTime: timestamp(),
    recordedAt: timestamp().defaultRaw('app_now()'),
  },
  checks: checks('amount > (0)::numeric'),
  indexes: [index('create index burn_refusals_wallet on burn_refusals (wallet, block_time desc, signature, index)')],
});

/** A row is the sum of a wallet's burns on one board of an event. */
export const BurnStandingsTable = defineEntity({
  name: 'BurnStandings',
  tableName: 'burn_standings',
  properties: {
    eventId: reference(BurnEventsTable, 'event_id').primary(),
    board: byteText().primary(),
    wallet: wallet().primary(),
    /** Base units. */
    amount: numeric(),
  },
  checks: checks("board in ('total', 'referral', 'game', 'social')"),
  indexes: [index('create index burn_standings_order on burn_standings (event_id, board, amount, wallet)')],
});

/** A row is a transaction that may contain a burn. */
export const BurnTransactionsTable = defineEntity({
  name: 'BurnTransactions',
  tableName: 'burn_transactions',
  properties: {
    signature: byteText().primary(),
    mint: wallet(),
    slot: bigint(),
    blockTime: timestamp().nullable(),
    /** Whether the memo of the transaction names a burn event; always false when the RPC node does not return memos. */
    likely: boolean(),
    /** Number of attempts to read the transaction. */
    tries: integer().default(0),
    /** Time from which a run may read the transaction. A run that leases the transaction sets a later time. */
    nextAt: timestamp().defaultRaw('app_now()'),
    foundAt: timestamp().defaultRaw('app_now()'),
    /** Time at which the transaction was read; null before. */
    readAt: timestamp().nullable(),
  },
  indexes: [
    index('create index burn_transactions_read on burn_transactions (read_at) where read_at is not null'),
    index('create index burn_transactions_unread on burn_transactions (mint, likely desc, slot) where read_at is null'),
  ],
});

/** A row is a burn instruction that counts for an event. */
export const BurnsTable = defineEntity({
  name: 'Burns',
  tableName: 'burns',
  properties: {
    signature: byteText().primary(),
    /** Position of the instruction among the instructions of its transaction. */
    index: smallint().primary(),
    eventId: reference(BurnEventsTable, 'event_id'),
    wallet: wallet(),
    /** Base units. */
    amount: numeric(),
    /** The source that the memo of the transaction names. */
    named: oneOf('referral', 'game', 'social'),
    /** The same source if it was valid at the time of the burn; otherwise null. */
    source: text().nullable(),
    slot: bigint(),
    blockTime: timestamp(),
    recordedAt: timestamp().defaultRaw('app_now()'),
  },
  checks: checks('amount > (0)::numeric', 'source = named'),
  indexes: [index('create index burns_wallet on burns (wallet)')],
});

/** Tables of this area. */
export const burnsTables = [
  BurnCursorsTable,
  BurnEventsTable,
  BurnGapsTable,
  BurnRangesTable,
  BurnRefusalCandidatesTable,
  BurnRefusalsTable,
  BurnStandingsTable,
  BurnTransactionsTable,
  BurnsTable,
] as const;
