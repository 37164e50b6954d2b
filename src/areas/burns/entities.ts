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

export const BurnCursorsTable = defineEntity({
  name: 'BurnCursors',
  tableName: 'burn_cursors',
  properties: {
    mint: wallet().primary(),
    slot: bigint(),
    deepAt: timestamp(),
  },
});

export const BurnEventsTable = defineEntity({
  name: 'BurnEvents',
  tableName: 'burn_events',
  properties: {
    id: uuid().primary(),
    title: text(),
    description: text().nullable(),
    mint: wallet(),
    durationSec: integer(),
    createdBy: wallet(),
    createdAt: timestamp().defaultRaw('app_now()'),
    state: oneOf('pending', 'active', 'ended').default('pending'),
    activatedAt: timestamp().nullable(),
    endsAt: timestamp().nullable(),
    finalAt: timestamp().nullable(),
    participants: integer().default(0),
    burned: numeric().default(0),
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
    index("create index burn_events_pending on burn_events (created_by, created_at) where state = 'pending'"),
    index("create index burn_events_watched on burn_events (mint) where state <> 'pending' and final_at is null"),
  ],
});

export const BurnGapsTable = defineEntity({
  name: 'BurnGaps',
  tableName: 'burn_gaps',
  properties: {
    mint: wallet().primary(),
    before: byteText().primary(),
    beforeSlot: bigint(),
    beforeTime: timestamp().nullable(),
    floor: bigint(),
    nextAt: timestamp().defaultRaw('app_now()'),
  },
});

export const BurnRangesTable = defineEntity({
  name: 'BurnRanges',
  tableName: 'burn_ranges',
  properties: {
    eventId: reference(BurnEventsTable, 'event_id').primary(),
    board: byteText().primary(),
    amount: numeric().primary(),
    wallet: wallet().primary(),
    n: integer(),
  },
  checks: checks('n >= 0'),
});

export const BurnStandingsTable = defineEntity({
  name: 'BurnStandings',
  tableName: 'burn_standings',
  properties: {
    eventId: reference(BurnEventsTable, 'event_id').primary(),
    board: byteText().primary(),
    wallet: wallet().primary(),
    amount: numeric(),
  },
  checks: checks("board in ('total', 'referral', 'game', 'social')"),
  indexes: [index('create index burn_standings_order on burn_standings (event_id, board, amount, wallet)')],
});

export const BurnTransactionsTable = defineEntity({
  name: 'BurnTransactions',
  tableName: 'burn_transactions',
  properties: {
    signature: byteText().primary(),
    mint: wallet(),
    slot: bigint(),
    blockTime: timestamp().nullable(),
    likely: boolean(),
    tries: integer().default(0),
    nextAt: timestamp().defaultRaw('app_now()'),
    foundAt: timestamp().defaultRaw('app_now()'),
    readAt: timestamp().nullable(),
  },
  indexes: [
    index('create index burn_transactions_read on burn_transactions (read_at) where read_at is not null'),
    index('create index burn_transactions_unread on burn_transactions (mint, likely desc, slot) where read_at is null'),
  ],
});

export const BurnsTable = defineEntity({
  name: 'Burns',
  tableName: 'burns',
  properties: {
    signature: byteText().primary(),
    index: smallint().primary(),
    eventId: reference(BurnEventsTable, 'event_id'),
    wallet: wallet(),
    amount: numeric(),
    named: oneOf('referral', 'game', 'social'),
    source: text().nullable(),
    slot: bigint(),
    blockTime: timestamp(),
    recordedAt: timestamp().defaultRaw('app_now()'),
  },
  checks: checks('amount > (0)::numeric', 'source = named'),
});

/** Tables of this area. */
export const burnsTables = [
  BurnCursorsTable,
  BurnEventsTable,
  BurnGapsTable,
  BurnRangesTable,
  BurnStandingsTable,
  BurnTransactionsTable,
  BurnsTable,
] as const;
