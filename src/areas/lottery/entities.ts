import { defineEntity } from '@mikro-orm/core';
import type { Currency } from '#areas/payouts';
import type { VoidReason } from '#lib/draw/audit.ts';
import type { RoundParameters } from '#lib/draw/parameters.ts';
import type { SignedAnnouncement, SignedClosed } from '#lib/draw/statements.ts';
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
import type { ChatRoundTerms, EntryRuleTerms, PrizeTerms } from './terms.ts';

/** States of a round. The column `state` of `RoundsTable` describes them. */
export const ROUND_STATES = ['pending', 'active', 'closing', 'committed', 'finalized', 'void'] as const;

/** States of a ticket. The column `state` of `TicketsTable` describes them. */
export const TICKET_STATES = ['checking', 'confirmed', 'refused'] as const;

/** A row is a round: a chat round, or a legacy round, which sells tickets. Rows are never deleted, and the row of an ended round never changes. */
export const RoundsTable = defineEntity({
  name: 'Rounds',
  tableName: 'rounds',
  properties: {
    id: uuid().primary().defaultRaw('gen_random_uuid()'),
    kind: oneOf('chat', 'legacy'),
    /**
     * pending: created, but not started (only chat rounds). active: the parameters are frozen, and the round accepts entries until `closesAt`.
     * closing: the entries are frozen; a worker computes their root and submits the commitment. committed: the commitment is finalized on the chain,
     * and the draw waits for the beacon round. finalized: the winners are drawn. void: ended without entries.
     */
    state: oneOf(...ROUND_STATES),
    title: text().nullable(),
    /** Name of an admin token, or `scheduler`; for a legacy round, the wallet that opened it. */
    createdBy: text(),
    /** Number of numbers in an entry and in the draw. Each number is between 1 and `range`. */
    picks: smallint().nullable(),
    range: smallint().nullable(),
    maxEntriesPerWallet: integer().nullable(),
    /** Terms that a wallet must meet to enter the round. */
    entryRules: jsonb<EntryRuleTerms>().default('{}'),
    /** Prizes of a chat round, first place first. */
    prizes: jsonb<PrizeTerms[]>().nullable(),
    durationSec: integer().nullable(),
    /** Base units of the stablecoin; null for a chat round. */
    ticketPrice: numeric().nullable(),
    maxTickets: bigint().nullable(),
    /** Parameters of the draw, frozen when the round opens. `parametersHash` is their hash, hex. */
    parameters: jsonb<RoundParameters>().nullable(),
    parametersHash: text().nullable(),
    opensAt: timestamp(3).nullable(),
    closesAt: timestamp(3).nullable(),
    /** Number of entries. Indexes begin at 0, so this number is also the index of the next entry. */
    entries: integer().default(0),
    /** Running hash after the last entry (before the first entry, the hash of the parameters), and the time of the last entry. */
    runningHash: bytes().nullable(),
    lastEntryAt: timestamp(3).nullable(),
    /** The signed statements about the opening and the closing of the round. */
    announcement: jsonb<SignedAnnouncement>().nullable(),
    closed: jsonb<SignedClosed>().nullable(),
    /** Root of the Merkle tree over the entries; null until the tree is computed. */
    root: bytes().nullable(),
    /** JSON text of the audit; null until the root is computed or the round is void. */
    audit: text().nullable(),
    /** The beacon round that decides the draw, and the time at which the beacon should publish it. */
    beaconRound: bigint().nullable(),
    beaconDueAt: timestamp().nullable(),
    voidReason: text().$type<VoidReason>().nullable(),
    /** Time from which the sweep may enqueue a job for the round again. */
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
    "state = 'pending' or num_nulls(running_hash, announcement) = 0",
    "state in ('pending', 'active') or closed is not null",
    "state not in ('committed', 'finalized') or (beacon_due_at is not null and root is not null and audit is not null and entries > 0)",
    "(state = 'void') = (void_reason is not null)",
    "(state in ('finalized', 'void')) = (ended_at is not null)",
    'entries >= 0',
  ),
  indexes: [
    index("create index rounds_ended on rounds (kind, state, ended_at desc) where state in ('finalized', 'void')"),
    index('create index rounds_listed on rounds (kind, state, created_at desc, id desc)'),
    index("create unique index rounds_one_active on rounds (kind) where kind = 'chat' and state = 'active'"),
    index("create index rounds_opened on rounds (created_at) where kind = 'legacy'"),
    index("create index rounds_opened_by on rounds (created_by, created_at) where kind = 'legacy'"),
    index("create index rounds_unfinished on rounds (created_by) where kind = 'legacy' and state in ('active', 'closing', 'committed')"),
    index("create index rounds_open on rounds (state, closes_at) where state in ('active', 'closing', 'committed')"),
  ],
  triggers: [
    trigger('create trigger rounds_guarded before update on rounds for each row execute function guard_round()'),
    trigger('create trigger rounds_kept before delete on rounds for each row execute function keep_rounds()'),
  ],
});

/** A row is the finalized commitment of a round: its account on the chain, which exists only once per round. */
export const CommitmentsTable = defineEntity({
  name: 'Commitments',
  tableName: 'commitments',
  properties: {
    round: reference(RoundsTable, 'round').primary(),
    account: wallet(),
    leaf: bytes(),
    beaconRound: bigint(),
    slot: bigint(),
    /** Time of the chain's clock, whole seconds. */
    at: timestamp(3),
    blockhash: byteText(),
    /** Signature of the transaction, which may commit several rounds; null when it is not known, for example after the database was restored from a backup. */
    signature: byteText().nullable(),
  },
  checks: checks('beacon_round > 0', 'length(leaf) = 32'),
  uniques: [{ name: 'commitments_account_key', properties: ['account'] }],
});

/** A row is an entry of a round. Rows are never changed or deleted. A round has at most one entry per message. */
export const EntriesTable = defineEntity({
  name: 'Entries',
  tableName: 'entries',
  properties: {
    round: reference(RoundsTable, 'round').primary(),
    index: integer().primary(),
    id: uuid(),
    wallet: wallet(),
    /** The chosen numbers in ascending order; empty for a ticket. */
    numbers: array('int2'),
    /** Origin of the message: a chat, `chain` for a paid ticket, or `ticket` for a free ticket. */
    source: byteText(),
    /** Id of the message; signature of the payment for a paid ticket. */
    messageId: byteText(),
    /** Whole milliseconds, because the leaf of the entry contains milliseconds. */
    at: timestamp(3),
    /** Running hash after this entry. */
    runningHash: bytes(),
  },
  checks: checks('index >= 0', 'length(running_hash) = 32'),
  uniques: [{ name: 'entries_round_source_message_id_key', properties: ['round', 'source', 'messageId'] }],
  indexes: [
    index('create index entries_chosen on entries (wallet, at desc, id desc) where cardinality(numbers) > 0'),
    index('create unique index entries_id on entries (id)'),
    index('create index entries_wallet on entries (round, wallet)'),
  ],
  triggers: [trigger('create trigger entries_kept before delete or update on entries for each row execute function keep_rounds()')],
});

/** A row is a level of the Merkle tree over the entries of a round. Level 0 contains the hashes of the entries. */
export const RoundLevelsTable = defineEntity({
  name: 'RoundLevels',
  tableName: 'round_levels',
  properties: {
    round: reference(RoundsTable, 'round').primary(),
    level: smallint().primary(),
    /** 32 bytes per node. PostgreSQL stores them uncompressed and outside the row, so that it can read one node without the others. */
    nodes: bytes(),
  },
});

/** The one row is the schedule of chat rounds. It is created when the schedule is started for the first time. */
export const RoundScheduleTable = defineEntity({
  name: 'RoundSchedule',
  tableName: 'round_schedule',
  properties: {
    singleton: boolean().primary().default(true),
    intervalSec: integer(),
    /** Terms of every round. */
    template: jsonb<ChatRoundTerms>(),
    /** Name of the admin token that last started the schedule. */
    startedBy: text(),
    /** Start time of the next round; null while the schedule is stopped. */
    nextAt: timestamp(3).nullable(),
    /** Number of rounds that the schedule has created, which is the number of the newest round. */
    rounds: integer().default(0),
    /** A round that is created but may not be started yet. The next run of the scheduler continues with it. */
    pending: reference(RoundsTable, 'pending').nullable(),
    /** Time from which the next run may begin: the end of the lease of a run, or of the delay after a failed run. */
    lookAt: timestamp().defaultRaw('app_now()'),
    /** The most recently started round and its start. */
    lastRound: reference(RoundsTable, 'last_round').nullable(),
    lastStartedAt: timestamp(3).nullable(),
    /** Error of the last failed start; null after a successful start. */
    lastError: text().nullable(),
  },
  checks: checks('interval_sec >= 10 and interval_sec <= 2592000', 'singleton'),
  uniques: [{ name: 'round_schedule_pending_key', properties: ['pending'] }],
});

/** A row is a winner with a prize. Rows are never changed or deleted. */
export const RoundWinnersTable = defineEntity({
  name: 'RoundWinners',
  tableName: 'round_winners',
  properties: {
    round: reference(RoundsTable, 'round').primary(),
    /** The first place is 1. */
    place: integer().primary(),
    /** Index of the winning entry. */
    index: integer(),
    wallet: wallet(),
    /** Number of drawn numbers in the entry; null in a legacy round. */
    matches: integer().nullable(),
    /** Base units. */
    amount: numeric(),
    mint: oneOf('reward', 'usdc'),
  },
  checks: checks('amount > (0)::numeric', 'place >= 1'),
  uniques: [{ name: 'round_winners_round_wallet_key', properties: ['round', 'wallet'] }],
  // MikroORM has no composite foreign key whose columns are properties too.
  indexes: [{ name: 'round_winners_entry', expression: 'alter table round_winners add foreign key (round, index) references entries' }],
  triggers: [trigger('create trigger round_winners_kept before delete or update on round_winners for each row execute function keep_rounds()')],
});

/** A refund of a ticket's payment. */
export interface RefundRow {
  /** Id of the payment. */
  readonly payment: string;
  readonly currency: Currency;
  /** Amount of the refund, base units, as text. */
  readonly amount: string;
}

/** A row is a requested ticket of a legacy round. The entry of an accepted ticket has the same id. Rows are never deleted. */
export const TicketsTable = defineEntity({
  name: 'Tickets',
  tableName: 'tickets',
  properties: {
    id: uuid().primary(),
    round: reference(RoundsTable, 'round'),
    wallet: wallet(),
    /** Signature of the payment; null for a free ticket. */
    signature: byteText().nullable(),
    /**
     * checking: waits until the payment is finalized or can never land. confirmed: counts, and its entry exists. refused: does not count.
     */
    state: oneOf(...TICKET_STATES),
    /** Whether the wallet requested the ticket. False: the service found its payment on the chain. */
    requested: boolean().default(true),
    /** Whether the payment is finalized. The refusal of a finalized payment is permanent; otherwise the wallet can request the ticket again. */
    found: boolean().default(false),
    /** Reason of the refusal, one sentence. */
    reason: text().nullable(),
    /** The entry rule or restriction that refused the wallet, one sentence; null when there was none. The payment is then refunded. */
    brokenRule: text().nullable(),
    /** Amounts that are owed back to the wallet. */
    refunds: jsonb<readonly RefundRow[]>().default('[]'),
    /** Time of the last request of the ticket, at which its checks began. */
    askedAt: timestamp().defaultRaw('app_now()'),
    /** Time of the next check. */
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
    index("create unique index tickets_paid_by on tickets (signature) where state = 'confirmed'"),
    index("create index tickets_settling on tickets (round, asked_at) where state = 'checking'"),
    index('create index tickets_wallet on tickets (wallet, created_at desc, id desc)'),
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
