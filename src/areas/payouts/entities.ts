import { defineEntity } from '@mikro-orm/core';
import {
  array,
  bigint,
  boolean,
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

export const PaymentsTable = defineEntity({
  name: 'Payments',
  tableName: 'payments',
  properties: {
    id: uuid().primary(),
    wallet: wallet(),
    currency: oneOf('usdc', 'reward'),
    amount: numeric(),
    causeKind: byteText(),
    causeId: byteText(),
    payer: oneOf('treasury', 'orchestrator'),
    lane: smallint().nullable(),
    state: oneOf('pending', 'batched', 'confirmed', 'completed', 'failed', 'reversed', 'manual').default('pending'),
    signature: byteText().nullable(),
    reason: text().nullable(),
    reported: text().nullable(),
    reportedAt: timestamp().nullable(),
    nextAt: timestamp().defaultRaw('app_now()'),
    giveUps: smallint().default(0),
    refusals: smallint().default(0),
    createdAt: timestamp().defaultRaw('app_now()'),
    changedAt: timestamp().defaultRaw('app_now()'),
    completedAt: timestamp().nullable(),
  },
  checks: checks(
    "(amount >= (1)::numeric) and (amount <= '18446744073709551615'::numeric) and (amount = trunc(amount))",
    "cause_id <> ''",
    "cause_kind <> ''",
    "(payer = 'treasury') = (lane is not null)",
    "payer = 'treasury' or currency = 'usdc'",
    "case payer when 'treasury' then state not in ('failed', 'reversed') else state not in ('batched', 'confirmed', 'manual') end",
    "state <> 'completed' or completed_at is not null",
    "state not in ('confirmed', 'completed') or signature is not null or payer = 'orchestrator'",
    'lane >= 0',
  ),
  uniques: [{ name: 'payments_cause_kind_cause_id_key', properties: ['causeKind', 'causeId'] }],
  indexes: [
    index("create index payments_completed on payments (currency, completed_at) where payer = 'treasury' and state = 'completed'"),
    index('create index payments_listed on payments (payer, state, created_at, id)'),
    index(
      "create index payments_open on payments (currency, state, amount) where payer = 'treasury' and state in ('pending', 'batched', 'confirmed', 'manual')",
    ),
    index("create index payments_pending on payments (lane, currency, next_at, id) where state = 'pending' and payer = 'treasury'"),
    index('create index payments_signature on payments (signature) where signature is not null'),
    index('create index payments_wallet on payments (wallet, created_at desc, id)'),
  ],
  triggers: [
    trigger('create trigger payments_fixed before update on payments for each row execute function guard_payment()'),
    trigger('create trigger payments_kept before delete on payments for each row execute function refuse_change()'),
    trigger('create trigger payments_no_truncate before truncate on payments for each statement execute function refuse_change()'),
  ],
});

export const PayoutLanesTable = defineEntity({
  name: 'PayoutLanes',
  tableName: 'payout_lanes',
  properties: {
    lane: smallint().primary(),
    address: byteText(),
    authority: byteText(),
    nonce: byteText().nullable(),
    nonceSlot: bigint().defaultRaw('0'),
    batch: uuid().nullable(),
    landed: byteText().nullable(),
    landedSlot: bigint().defaultRaw('0'),
    stale: boolean().default(true),
    accepted: boolean().default(false),
    changedAt: timestamp().defaultRaw('app_now()'),
  },
  checks: checks('lane >= 0'),
  uniques: [{ name: 'payout_lanes_address_key', properties: ['address'] }],
});

export const PayoutBatchesTable = defineEntity({
  name: 'PayoutBatches',
  tableName: 'payout_batches',
  properties: {
    id: uuid().primary(),
    lane: reference(PayoutLanesTable, 'lane'),
    address: byteText(),
    nonce: byteText(),
    feePayer: byteText(),
    treasury: byteText(),
    mint: byteText(),
    decimals: smallint(),
    rent: bigint(),
    urgency: smallint(),
    membersHash: text(),
    state: oneOf('live', 'paid', 'over').default('live'),
    signature: byteText().nullable(),
    slot: bigint().nullable(),
    error: jsonb().nullable(),
    createdAt: timestamp().defaultRaw('app_now()'),
    closedAt: timestamp().nullable(),
  },
  checks: checks("(state = 'live') = (closed_at is null)", "state <> 'paid' or signature is not null"),
  indexes: [
    index("create unique index payout_batches_live on payout_batches (lane) where state = 'live'"),
    // payout_lanes references payout_batches, and payout_batches references payout_lanes, so the reference is added when both tables exist.
    { name: 'payout_lanes_batch', expression: 'alter table payout_lanes add foreign key (batch) references payout_batches' },
  ],
  triggers: [
    trigger('create trigger payout_batches_fixed before update on payout_batches for each row execute function guard_payout_batch()'),
    trigger('create trigger payout_batches_kept before delete on payout_batches for each row execute function refuse_change()'),
  ],
});

export const PayoutBatchMembersTable = defineEntity({
  name: 'PayoutBatchMembers',
  tableName: 'payout_batch_members',
  properties: {
    batch: reference(PayoutBatchesTable, 'batch').primary(),
    position: smallint().primary(),
    payment: reference(PaymentsTable, 'payment'),
    opens: boolean(),
    live: boolean().default(true),
  },
  indexes: [
    index('create unique index payout_batch_members_live on payout_batch_members (payment) where live'),
    index('create index payout_batch_members_payment on payout_batch_members (payment)'),
  ],
});

export const PayoutFindingsTable = defineEntity({
  name: 'PayoutFindings',
  tableName: 'payout_findings',
  properties: {
    signature: byteText().primary(),
    lane: smallint(),
    address: byteText(),
    nonce: byteText().nullable(),
    slot: bigint(),
    batch: uuid().nullable(),
    membersHash: text().nullable(),
    transfers: jsonb(),
    verdict: oneOf('harmless', 'unmatched', 'matched', 'acknowledged'),
    reason: text().nullable(),
    payments: array('uuid').defaultRaw("'{}'::uuid[]"),
    decidedBy: text().nullable(),
    foundAt: timestamp().defaultRaw('app_now()'),
    changedAt: timestamp().defaultRaw('app_now()'),
  },
  indexes: [index("create index payout_findings_unmatched on payout_findings (found_at) where verdict = 'unmatched'")],
});

export const PayoutWatchTable = defineEntity({
  name: 'PayoutWatch',
  tableName: 'payout_watch',
  properties: {
    singleton: boolean().primary().default(true),
    systemIdentifier: text().nullable(),
    timeline: integer().nullable(),
    doubt: text().nullable(),
    held: text().nullable(),
    heldBy: text().nullable(),
    checkedAt: timestamp().nullable(),
  },
  checks: checks('singleton'),
});

export const TokenAccountsOpenedTable = defineEntity({
  name: 'TokenAccountsOpened',
  tableName: 'token_accounts_opened',
  properties: {
    wallet: wallet().primary(),
    mint: byteText().primary(),
    cause: uuid(),
    at: timestamp().defaultRaw('app_now()'),
  },
  indexes: [index('create index token_accounts_opened_cause on token_accounts_opened (cause)')],
});

/** Tables of this area. */
export const payoutsTables = [
  PaymentsTable,
  PayoutLanesTable,
  PayoutBatchesTable,
  PayoutBatchMembersTable,
  PayoutFindingsTable,
  PayoutWatchTable,
  TokenAccountsOpenedTable,
] as const;
