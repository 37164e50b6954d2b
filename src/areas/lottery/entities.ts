import { defineEntity } from '@mikro-orm/core';
import {
  array,
  bigint,
  boolean,
  bytes,
  byteText,
  checks,
  index,
  integer,
  jsonb,
  numeric,
  oneOf,
  reference,
  smallint,
  text,
  timestamp,
  trigger,
  uuid,
  wallet,
} from '#platform/db/columns.ts';

export const RoundsTable = defineEntity({
  name: 'Rounds',
  tableName: 'rounds',
  properties: {
    id: uuid().primary().defaultRaw('gen_random_uuid()'),
    kind: oneOf('chat', 'legacy'),
    state: oneOf('pending', 'active', 'closing', 'committed', 'finalized', 'void'),
    title: text().nullable(),
    createdBy: text(),
    picks: smallint().nullable(),
    range: smallint().nullable(),
    maxEntriesPerWallet: integer().nullable(),
    prizes: jsonb().nullable(),
    durationSec: integer().nullable(),
    ticketPrice: numeric().nullable(),
    maxTickets: bigint().nullable(),
    parameters: jsonb().nullable(),
    parametersHash: text().nullable(),
    opensAt: timestamp(3).nullable(),
    closesAt: timestamp(3).nullable(),
    entries: integer().default(0),
    root: bytes().nullable(),
    audit: text().nullable(),
    beaconRound: bigint().nullable(),
    beaconDueAt: timestamp().nullable(),
    voidReason: text().nullable(),
    successorOf: uuid().columnType('uuid references rounds').nullable(),
    lookAt: timestamp().defaultRaw('app_now()'),
    createdAt: timestamp().defaultRaw('app_now()'),
    closedAt: timestamp().nullable(),
    committedAt: timestamp().nullable(),
    endedAt: timestamp().nullable(),
  },
  checks: checks(
    "case kind when 'chat' then ((num_nulls(title, picks, range, max_entries_per_wallet, prizes, duration_sec) = 0) and (ticket_price is null)) else ((ticket_price is not null) and (num_nonnulls(picks, range, max_entries_per_wallet, prizes, duration_sec) = 0)) end",
    "(state = 'pending') or (num_nulls(parameters, parameters_hash, opens_at, closes_at) = 0)",
    "state in ('pending', 'active') or closed_at is not null",
    "state not in ('committed', 'finalized') or (beacon_due_at is not null and root is not null and audit is not null and entries > 0)",
    "(state = 'void') = (void_reason is not null)",
    "(state in ('finalized', 'void')) = (ended_at is not null)",
    'entries >= 0',
  ),
  uniques: [{ name: 'rounds_successor_of_key', properties: ['successorOf'] }],
  indexes: [
    index("create index rounds_created_by on rounds (created_by, kind) where state in ('pending', 'active')"),
    index("create index rounds_ended on rounds (kind, state, ended_at desc) where state in ('finalized', 'void')"),
    index("create unique index rounds_one_active on rounds (kind) where kind = 'chat' and state = 'active'"),
    index("create index rounds_open on rounds (state, closes_at) where state in ('active', 'closing', 'committed')"),
  ],
  triggers: [
    trigger('create trigger rounds_guarded before update on rounds for each row execute function guard_round()'),
    trigger('create trigger rounds_kept before delete on rounds for each row execute function keep_rounds()'),
  ],
});

export const CommitmentsTable = defineEntity({
  name: 'Commitments',
  tableName: 'commitments',
  properties: {
    committer: byteText().primary(),
    sequence: bigint().primary(),
    round: reference(RoundsTable, 'round'),
    previous: text(),
    memo: text().nullable(),
    hash: text().nullable(),
    signature: byteText().nullable(),
    slot: bigint().nullable(),
    blockhash: byteText().nullable(),
    blockTime: timestamp().nullable(),
  },
  checks: checks('num_nulls(memo, hash, signature, slot, blockhash, block_time) in (0, 6)', 'sequence > 0'),
  uniques: [
    { name: 'commitments_round_key', properties: ['round'] },
    { name: 'commitments_signature_key', properties: ['signature'] },
  ],
  indexes: [index('create index commitments_first on commitments (slot) where sequence = 1')],
});

export const EntriesTable = defineEntity({
  name: 'Entries',
  tableName: 'entries',
  properties: {
    round: reference(RoundsTable, 'round').primary(),
    index: integer().primary(),
    id: uuid(),
    wallet: wallet(),
    numbers: array('int2'),
    source: byteText(),
    messageId: byteText(),
    at: timestamp(3),
  },
  checks: checks('index >= 0'),
  uniques: [{ name: 'entries_round_source_message_id_key', properties: ['round', 'source', 'messageId'] }],
  indexes: [index('create unique index entries_id on entries (id)'), index('create index entries_wallet on entries (round, wallet)')],
  triggers: [trigger('create trigger entries_kept before delete or update on entries for each row execute function keep_rounds()')],
});

export const RoundLevelsTable = defineEntity({
  name: 'RoundLevels',
  tableName: 'round_levels',
  properties: {
    round: reference(RoundsTable, 'round').primary(),
    level: smallint().primary(),
    nodes: bytes(),
  },
});

export const RoundScheduleTable = defineEntity({
  name: 'RoundSchedule',
  tableName: 'round_schedule',
  properties: {
    singleton: boolean().primary().default(true),
    intervalSec: integer(),
    template: jsonb(),
    startedBy: text(),
    nextAt: timestamp(3).nullable(),
    rounds: integer().default(0),
    pending: reference(RoundsTable, 'pending').nullable(),
    lookAt: timestamp().defaultRaw('app_now()'),
    lastRound: reference(RoundsTable, 'last_round').nullable(),
    lastStartedAt: timestamp(3).nullable(),
    lastError: text().nullable(),
  },
  checks: checks('interval_sec >= 10 and interval_sec <= 2592000', 'singleton'),
  uniques: [{ name: 'round_schedule_pending_key', properties: ['pending'] }],
});

export const RoundWinnersTable = defineEntity({
  name: 'RoundWinners',
  tableName: 'round_winners',
  properties: {
    round: reference(RoundsTable, 'round').primary(),
    place: integer().primary(),
    index: integer(),
    wallet: wallet(),
    matches: integer().nullable(),
    amount: numeric(),
    mint: oneOf('reward', 'usdc'),
  },
  checks: checks('amount > (0)::numeric', 'place >= 1'),
  uniques: [{ name: 'round_winners_round_wallet_key', properties: ['round', 'wallet'] }],
  // MikroORM has no composite foreign key whose columns are properties too.
  indexes: [{ name: 'round_winners_entry', expression: 'alter table round_winners add foreign key (round, index) references entries' }],
  triggers: [trigger('create trigger round_winners_kept before delete or update on round_winners for each row execute function keep_rounds()')],
});

export const TicketsTable = defineEntity({
  name: 'Tickets',
  tableName: 'tickets',
  properties: {
    id: uuid().primary(),
    round: reference(RoundsTable, 'round'),
    wallet: wallet(),
    signature: byteText().nullable(),
    state: oneOf('checking', 'confirmed', 'refused', 'refunded'),
    found: boolean().default(false),
    reason: text().nullable(),
    refunds: jsonb().default('[]'),
    askedAt: timestamp().defaultRaw('app_now()'),
    nextAt: timestamp().defaultRaw("(app_now() + '00:00:00.5'::interval)"),
    createdAt: timestamp().defaultRaw('app_now()'),
    decidedAt: timestamp().nullable(),
  },
  checks: checks(
    "(state = 'refused') = (reason is not null)",
    "(state = 'checking') = (decided_at is null)",
    "state = 'confirmed' or signature is not null",
  ),
  uniques: [{ name: 'tickets_signature_wallet_key', properties: ['signature', 'wallet'] }],
  indexes: [
    index("create index tickets_checking on tickets (wallet) where state = 'checking'"),
    index("create index tickets_confirmed on tickets (round, id) where state = 'confirmed'"),
    index("create index tickets_due on tickets (next_at) where state = 'checking'"),
    index("create unique index tickets_paid_by on tickets (signature) where state in ('confirmed', 'refunded')"),
    index("create index tickets_settling on tickets (round, asked_at) where state = 'checking'"),
  ],
  triggers: [
    trigger('create trigger tickets_guarded before update on tickets for each row execute function guard_ticket()'),
    trigger('create trigger tickets_kept before delete on tickets for each row execute function refuse_change()'),
  ],
});

/** Tables of this area. */
export const lotteryTables = [
  RoundsTable,
  CommitmentsTable,
  EntriesTable,
  RoundLevelsTable,
  RoundScheduleTable,
  RoundWinnersTable,
  TicketsTable,
] as const;
