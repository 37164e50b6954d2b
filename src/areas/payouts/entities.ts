import { defineEntity } from '@mikro-orm/core';
import {
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
import { PayoutFindingsTable, PayoutLaneScansTable, PayoutLanesTable } from './lanes/entities.ts';

/**
 * A row is the one payment of a cause, which is the event that the payment pays for, such as a claimed prize. A row is never deleted. Its wallet,
 * currency, amount, cause, payer and lane never change.
 */
export const PaymentsTable = defineEntity({
  name: 'Payments',
  tableName: 'payments',
  properties: {
    id: uuid().primary(),
    wallet: wallet(),
    currency: oneOf('usdc', 'reward'),
    /** Base units of the currency. */
    amount: numeric(),
    /** `causeKind` and `causeId` identify the cause, such as 'prize' and '<round>:<place>'. */
    causeKind: byteText(),
    causeId: byteText(),
    /** treasury: this service pays from its treasury. orchestrator: another service pays and reports the payment. */
    payer: oneOf('treasury', 'orchestrator'),
    /** The payout lane, so that all transactions that are ever signed for the cause use one nonce account; null for the payer orchestrator. */
    lane: smallint().nullable(),
    /**
     * pending: owed, with no transaction in flight. batched: in the one live batch of its lane. confirmed: the batch is confirmed, but a fork can
     * still drop it. manual: an operator must decide; no transaction is in flight. completed: finalized, or reported as paid and checked. failed:
     * reported as failed, and still owed. reversed: reported as reversed after it was completed, and no longer owed.
     */
    state: oneOf('pending', 'batched', 'confirmed', 'completed', 'failed', 'reversed', 'manual').default('pending'),
    signature: byteText().nullable(),
    /** Reason why the payment is delayed, failed or reversed. */
    reason: text().nullable(),
    /** Status of the payment in its newest report. It differs from `state` when an operator retried the payment after the report. */
    reported: text().nullable(),
    /** Timestamp in this report. */
    reportedAt: timestamp().nullable(),
    /** Earliest time at which a worker may put the payment into a batch. */
    nextAt: timestamp().defaultRaw('app_now()'),
    /** Number of expired batches that contained the payment. */
    giveUps: smallint().default(0),
    /** Number of batches that failed because of the payment. */
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

/**
 * A row is a batch of payments that one transaction pays. Only its outcome may change, so that the worker always composes the same transaction bytes.
 */
export const PayoutBatchesTable = defineEntity({
  name: 'PayoutBatches',
  tableName: 'payout_batches',
  properties: {
    id: uuid().primary(),
    lane: reference(PayoutLanesTable, 'lane'),
    /** Address of the nonce account that the batch uses. */
    address: byteText(),
    nonce: byteText(),
    feePayer: byteText(),
    /** Wallet that owns the token account from which the batch pays. */
    treasury: byteText(),
    mint: byteText(),
    decimals: smallint(),
    /** Rent of one token account, lamports. */
    rent: bigint(),
    /** Each unit doubles the priority fee. */
    urgency: smallint(),
    /** Hash over the members in batch order (`membersHash`), hex. */
    membersHash: text(),
    /** live: can still land. paid: finalized. over: can never land, or landed with an error. */
    state: oneOf('live', 'paid', 'over').default('live'),
    /** Signature and slot of the transaction that landed. */
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

/** A row is a payment in a batch. */
export const PayoutBatchMembersTable = defineEntity({
  name: 'PayoutBatchMembers',
  tableName: 'payout_batch_members',
  properties: {
    batch: reference(PayoutBatchesTable, 'batch').primary(),
    /** Position in the batch, from 0. */
    position: smallint().primary(),
    payment: reference(PaymentsTable, 'payment'),
    /** Whether the batch opens the token account of the wallet before it pays the wallet. The service pays for the account. */
    opens: boolean(),
    /** Whether the batch is live. A payment is in at most one live batch. */
    live: boolean().default(true),
  },
  indexes: [
    index('create unique index payout_batch_members_live on payout_batch_members (payment) where live'),
    index('create index payout_batch_members_payment on payout_batch_members (payment)'),
  ],
});

/** The one row says which database server the last reconciliation saw, and why payouts are paused. */
export const PayoutWatchTable = defineEntity({
  name: 'PayoutWatch',
  tableName: 'payout_watch',
  properties: {
    singleton: boolean().primary().default(true),
    /** `systemIdentifier` and `timeline` identify the database server, as of the last reconciliation. */
    systemIdentifier: text().nullable(),
    timeline: integer().nullable(),
    /** Reason why payouts are paused until the database matches the chain; null when they are not paused for this reason. */
    doubt: text().nullable(),
    /** Reason why an operator paused payouts; null when no operator has paused them. */
    held: text().nullable(),
    /** Name of the admin token with which payouts were last paused or resumed. */
    heldBy: text().nullable(),
    /** Time of the last reconciliation. */
    checkedAt: timestamp().nullable(),
  },
  checks: checks('singleton'),
});

/** A row is a token account whose rent the service paid, at most one per wallet and mint. */
export const TokenAccountsOpenedTable = defineEntity({
  name: 'TokenAccountsOpened',
  tableName: 'token_accounts_opened',
  properties: {
    wallet: wallet().primary(),
    mint: byteText().primary(),
    /** Id of the claim or of the payout batch for which the account was opened. */
    cause: uuid(),
    at: timestamp().defaultRaw('app_now()'),
  },
  indexes: [index('create index token_accounts_opened_cause on token_accounts_opened (cause)')],
});

/** Tables of this area. */
export const payoutsTables = [
  PaymentsTable,
  PayoutLanesTable,
  PayoutLaneScansTable,
  PayoutBatchesTable,
  PayoutBatchMembersTable,
  PayoutFindingsTable,
  PayoutWatchTable,
  TokenAccountsOpenedTable,
] as const;
