import { defineEntity } from '@mikro-orm/core';
import { AdminAuditTable, ApprovalSumsTable, ApprovalsTable } from '#platform/auth/entities.ts';
import {
  array,
  bigint,
  boolean,
  bytes,
  byteText,
  checks,
  identity,
  index,
  integer,
  interval,
  jsonb,
  numeric,
  oneOf,
  reference,
  smallint,
  text,
  timestamp,
  uuid,
  wallet,
} from '#platform/db/columns.ts';
import type { WebhookSource } from '#platform/webhooks/config.ts';

/** The one row is the difference between `app_now()` and the system time. Only tests and development insert it. */
export const AppClockTable = defineEntity({
  name: 'AppClock',
  tableName: 'app_clock',
  properties: {
    singleton: boolean().primary().default(true),
    shift: interval(),
  },
  checks: checks('singleton'),
});

/**
 * A row is a transaction that must land on the chain exactly once, such as a claim, an epoch root or a batch of payouts. An area identifies it by
 * `kind` and `subject`.
 */
export const ChainTransactionsTable = defineEntity({
  name: 'ChainTransactions',
  tableName: 'chain_transactions',
  properties: {
    id: uuid().primary().defaultRaw('gen_random_uuid()'),
    /** Name of the transaction type. */
    kind: text(),
    /** Key of the area's row that needs the transaction, such as the id of a claim. */
    subject: byteText(),
    /** queued: waits to be signed. live: an attempt is pending. manual: the outcome was unclear for too long, so an operator must decide. */
    state: oneOf('queued', 'live', 'confirmed', 'finalized', 'failed', 'manual').default('queued'),
    /** Number of signed attempts, which is the number `n` of the latest attempt. */
    attempts: integer().default(0),
    /** Attempts that landed and failed. A retry by an operator sets the number to 0. */
    refusals: integer().default(0),
    /** Failed simulations and errors since the last signed attempt. They make the retry delay longer. */
    tries: integer().default(0),
    /** Time from which a queued transaction may be signed. */
    nextAt: timestamp().defaultRaw('app_now()'),
    /** Class of the transaction. Each class has its own queue and its own reserve in the daily limits. */
    priority: oneOf('commitments', 'roots', 'payouts', 'claims').default('claims'),
    /** Wallet that caused the transaction; null for a transaction of the service or of an operator. */
    caller: byteText().nullable(),
    /** Number of pending transactions of the caller when the transaction was submitted. A lower rank is signed first. */
    rank: integer().default(1),
    /** Signature and slot of the attempt that landed. */
    signature: byteText().nullable(),
    slot: bigint().nullable(),
    error: jsonb().nullable(),
    createdAt: timestamp().defaultRaw('app_now()'),
    changedAt: timestamp().defaultRaw('app_now()'),
  },
  uniques: [{ name: 'chain_transactions_kind_subject_key', properties: ['kind', 'subject'] }],
  checks: checks('rank > 0'),
  indexes: [
    index("create index chain_transactions_due on chain_transactions (priority, next_at) where state = 'queued'"),
    index("create index chain_transactions_caller on chain_transactions (caller) where state in ('queued', 'live') and caller is not null"),
    index("create index chain_transactions_unclear on chain_transactions (changed_at) where state in ('manual', 'failed')"),
  ],
});

/**
 * A row is an attempt to submit a transaction. Its signed bytes are committed before they are sent. An attempt expires with its blockhash or with its
 * durable nonce.
 */
export const ChainAttemptsTable = defineEntity({
  name: 'ChainAttempts',
  tableName: 'chain_attempts',
  properties: {
    transactionId: reference(ChainTransactionsTable, 'transaction_id').primary(),
    n: integer().primary(),
    /** signed, sent and confirmed: the attempt is pending. failed: it landed and failed. dead: it can never land. */
    state: oneOf('signed', 'sent', 'confirmed', 'finalized', 'failed', 'dead').default('signed'),
    signature: byteText(),
    bytes: bytes(),
    signers: array('text'),
    /** Number of instructions that the service added before the transaction's own instructions. */
    preamble: smallint(),
    /** Block height after which the blockhash is no longer valid; null for an attempt with a nonce. */
    lastValidHeight: bigint().nullable(),
    nonceAccount: byteText().nullable(),
    nonce: byteText().nullable(),
    /** Slot that the chain had reached when the attempt was signed. */
    signedSlot: bigint(),
    signedAt: timestamp().defaultRaw('app_now()'),
    /** Time of the next poll of the status, while the attempt is pending. */
    pollAt: timestamp().defaultRaw('app_now()'),
    /** Slot that the chain had reached when the attempt was last sent; null when it was never sent. */
    sentSlot: bigint().nullable(),
    slot: bigint().nullable(),
    error: jsonb().nullable(),
    /** Time of the last expiry check. */
    lookedAt: timestamp().nullable(),
    /** Proof by the last expiry check that the attempt expired; null without a proof. Two successive proofs make the attempt dead. */
    doubt: jsonb().nullable(),
    /** Time since which each expiry check has proved that the attempt expired. */
    doubtedAt: timestamp().nullable(),
    /** List of `{ asset, amount }` that the attempt spends if it lands; amounts are base units as text. */
    spends: jsonb(),
    /** Day of `chain_outflows` that reserves the spends. */
    spendDay: integer(),
    /** Class of the transaction. */
    priority: oneOf('commitments', 'roots', 'payouts', 'claims').default('claims'),
    /** Fee, lamports, which the spend of `sol` contains; null for an attempt that was signed before fees were stored. */
    fee: bigint().nullable(),
    /** Ids of further transactions whose effects the attempt has too. */
    carried: array('uuid').default('{}'),
  },
  checks: checks('(last_valid_height is null) <> (nonce is null)', '(nonce is null) = (nonce_account is null)'),
  uniques: [{ name: 'chain_attempts_signature_key', properties: ['signature'] }],
  indexes: [
    index("create unique index chain_attempts_live on chain_attempts (transaction_id) where state in ('signed', 'sent', 'confirmed')"),
    index('create index chain_attempts_nonce on chain_attempts (nonce_account, nonce) where nonce is not null'),
    index("create index chain_attempts_pending on chain_attempts (priority, poll_at) where state in ('signed', 'sent', 'confirmed')"),
  ],
});

/**
 * A row is the amount of an asset that a class of transactions has spent or may still spend on a UTC day. It counts against the daily limit of the
 * asset.
 */
export const ChainOutflowsTable = defineEntity({
  name: 'ChainOutflows',
  tableName: 'chain_outflows',
  properties: {
    /** UTC days since 1970. */
    day: integer().primary(),
    /** A mint address, `sol`, or `token-accounts` for the rent of token accounts. */
    asset: byteText().primary(),
    /** Class of the transactions. */
    priority: oneOf('commitments', 'roots', 'payouts', 'claims').primary(),
    /** Base units; lamports for `sol` and `token-accounts`. */
    reserved: numeric(),
  },
  checks: checks('reserved >= (0)::numeric'),
});

/** A row stops the signing of the transactions in a scope. */
export const ChainPausesTable = defineEntity({
  name: 'ChainPauses',
  tableName: 'chain_pauses',
  properties: {
    /** Name of a group of transaction types, such as 'payouts'. */
    scope: text().primary(),
    reason: text(),
    at: timestamp().defaultRaw('app_now()'),
  },
});

/** A row is a request with an idempotency key and the reply that a repeated request gets. */
export const IdempotencyKeysTable = defineEntity({
  name: 'IdempotencyKeys',
  tableName: 'idempotency_keys',
  properties: {
    /** SHA-256 of the caller, the method, the path and the key. */
    scope: bytes().primary(),
    requestHash: bytes(),
    /** Status of the reply. The transaction that inserts the row also sets the status, so a committed row has one. */
    status: smallint().nullable(),
    body: jsonb().nullable(),
    headers: jsonb().nullable(),
    createdAt: timestamp().defaultRaw('app_now()'),
  },
  indexes: [index('create index idempotency_keys_created_at on idempotency_keys using brin (created_at)')],
});

/** A row is an event. The transaction that causes the event inserts the row, and the publisher copies it into the Redis stream. */
export const OutboxTable = defineEntity({
  name: 'Outbox',
  tableName: 'outbox',
  properties: {
    id: identity().primary(),
    /** Position in the order of all events; null until the publisher assigns it. */
    publication: bigint().nullable(),
    type: text(),
    /** The wallet that receives the event; null when all subscribers receive it. */
    wallet: wallet().nullable(),
    payload: jsonb(),
    at: timestamp().defaultRaw('app_now()'),
  },
  uniques: [{ name: 'outbox_publication_key', properties: ['publication'] }],
  indexes: [index('create index outbox_unnumbered on outbox (id) where publication is null')],
});

/** The one row is the state of the publishers of the outbox. */
export const OutboxCounterTable = defineEntity({
  name: 'OutboxCounter',
  tableName: 'outbox_counter',
  properties: {
    singleton: boolean().primary().default(true),
    /** The last publication number that a publisher has assigned. */
    publication: bigint(),
    /** Time at which a publisher last assigned numbers. */
    publishedAt: timestamp(),
    /** The last publication number that is known to be in the Redis stream. */
    appended: bigint(),
  },
  checks: checks('singleton'),
});

/** A row is the session of a signed-in wallet. */
export const SessionsTable = defineEntity({
  name: 'Sessions',
  tableName: 'sessions',
  properties: {
    /** SHA-256 of the session id in the cookie, so that a reader of this table cannot take over a session. */
    key: bytes().primary(),
    wallet: wallet(),
    createdAt: timestamp(),
    extendedAt: timestamp(),
    expiresAt: timestamp(),
  },
  checks: checks("expires_at <= (created_at + '720:00:00'::interval)"),
  indexes: [
    index('create index sessions_expires_at on sessions (expires_at)'),
    index('create index sessions_wallet on sessions (wallet, created_at desc, key)'),
  ],
});

/** A row is a version of a setting that operators change. The newest version applies. */
export const SettingsTable = defineEntity({
  name: 'Settings',
  tableName: 'settings',
  properties: {
    name: text().primary(),
    version: integer().primary(),
    value: jsonb(),
    at: timestamp().defaultRaw('app_now()'),
  },
});

/** A row is a delivery of a webhook, with its raw body. Rows are kept for 30 days, so that the service recognizes a repeated delivery. */
export const WebhookDeliveriesTable = defineEntity({
  name: 'WebhookDeliveries',
  tableName: 'webhook_deliveries',
  properties: {
    source: text().$type<WebhookSource>().primary(),
    /** Value of the header `webhook-id`; for a delivery from X, the hex SHA-256 of its body. */
    id: byteText().primary(),
    bodyHash: bytes(),
    body: bytes(),
    receivedAt: timestamp().defaultRaw('app_now()'),
    /** received: waits or is being processed. worked: processed. failed: processing failed for good. */
    state: oneOf('received', 'worked', 'failed').default('received'),
    /** Attempts since the receipt or the last replay. */
    attempts: integer().default(0),
    /** Result of the last attempt, one sentence for operators. */
    verdict: text().nullable(),
    /** Time at which the state became worked or failed. */
    settledAt: timestamp().nullable(),
    /** Time at which an operator last replayed the delivery. */
    replayedAt: timestamp().nullable(),
  },
  checks: checks('attempts >= 0', "(state = 'received') = (settled_at is null)"),
  indexes: [
    index("create index webhook_deliveries_failed on webhook_deliveries (received_at) where state = 'failed'"),
    index('create index webhook_deliveries_received_at on webhook_deliveries (received_at)'),
    index('create index webhook_deliveries_source on webhook_deliveries (source, received_at)'),
    index("create index webhook_deliveries_waiting on webhook_deliveries (received_at) where state = 'received'"),
  ],
});

export const platformTables = [
  AdminAuditTable,
  ApprovalsTable,
  ApprovalSumsTable,
  AppClockTable,
  ChainTransactionsTable,
  ChainAttemptsTable,
  ChainOutflowsTable,
  ChainPausesTable,
  IdempotencyKeysTable,
  OutboxTable,
  OutboxCounterTable,
  SessionsTable,
  SettingsTable,
  WebhookDeliveriesTable,
] as const;
