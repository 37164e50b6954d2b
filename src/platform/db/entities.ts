import { defineEntity } from '@mikro-orm/core';
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
  trigger,
  uuid,
  wallet,
} from '#platform/db/columns.ts';

export const AdminAuditTable = defineEntity({
  name: 'AdminAudit',
  tableName: 'admin_audit',
  properties: {
    id: bigint().primary(),
    at: timestamp(),
    tokenName: text(),
    method: text(),
    path: text(),
    bodyHash: bytes(),
    previousHash: bytes(),
    hash: bytes(),
  },
  uniques: [{ name: 'admin_audit_hash_key', properties: ['hash'] }],
  triggers: [
    trigger(
      'create trigger admin_audit_append_only before delete or update or truncate on admin_audit for each statement execute function refuse_change()',
    ),
  ],
});

export const AppClockTable = defineEntity({
  name: 'AppClock',
  tableName: 'app_clock',
  properties: {
    singleton: boolean().primary().default(true),
    shift: interval(),
  },
  checks: checks('singleton'),
});

export const ChainTransactionsTable = defineEntity({
  name: 'ChainTransactions',
  tableName: 'chain_transactions',
  properties: {
    id: uuid().primary().defaultRaw('gen_random_uuid()'),
    kind: text(),
    subject: byteText(),
    state: oneOf('queued', 'live', 'confirmed', 'finalized', 'failed', 'manual').default('queued'),
    attempts: integer().default(0),
    refusals: integer().default(0),
    tries: integer().default(0),
    nextAt: timestamp().defaultRaw('app_now()'),
    signature: byteText().nullable(),
    slot: bigint().nullable(),
    error: jsonb().nullable(),
    createdAt: timestamp().defaultRaw('app_now()'),
    changedAt: timestamp().defaultRaw('app_now()'),
  },
  uniques: [{ name: 'chain_transactions_kind_subject_key', properties: ['kind', 'subject'] }],
  indexes: [
    index("create index chain_transactions_due on chain_transactions (next_at) where state = 'queued'"),
    index("create index chain_transactions_unclear on chain_transactions (changed_at) where state in ('manual', 'failed')"),
  ],
});

export const ChainAttemptsTable = defineEntity({
  name: 'ChainAttempts',
  tableName: 'chain_attempts',
  properties: {
    transactionId: reference(ChainTransactionsTable, 'transaction_id').primary(),
    n: integer().primary(),
    state: oneOf('signed', 'sent', 'confirmed', 'finalized', 'failed', 'dead').default('signed'),
    signature: byteText(),
    bytes: bytes(),
    signers: array('text'),
    preamble: smallint(),
    lastValidHeight: bigint().nullable(),
    nonceAccount: byteText().nullable(),
    nonce: byteText().nullable(),
    signedSlot: bigint(),
    signedAt: timestamp().defaultRaw('app_now()'),
    sentSlot: bigint().nullable(),
    slot: bigint().nullable(),
    error: jsonb().nullable(),
    lookedAt: timestamp().nullable(),
    doubt: jsonb().nullable(),
    doubtedAt: timestamp().nullable(),
    spends: jsonb(),
    spendDay: integer(),
  },
  checks: checks('(last_valid_height is null) <> (nonce is null)', '(nonce is null) = (nonce_account is null)'),
  uniques: [{ name: 'chain_attempts_signature_key', properties: ['signature'] }],
  indexes: [
    index("create unique index chain_attempts_live on chain_attempts (transaction_id) where state in ('signed', 'sent', 'confirmed')"),
    index('create index chain_attempts_nonce on chain_attempts (nonce_account, nonce) where nonce is not null'),
    index("create index chain_attempts_pending on chain_attempts (signed_at) where state in ('signed', 'sent', 'confirmed')"),
  ],
});

export const ChainOutflowsTable = defineEntity({
  name: 'ChainOutflows',
  tableName: 'chain_outflows',
  properties: {
    day: integer().primary(),
    asset: byteText().primary(),
    reserved: numeric(),
  },
  checks: checks('reserved >= (0)::numeric'),
});

export const ChainPausesTable = defineEntity({
  name: 'ChainPauses',
  tableName: 'chain_pauses',
  properties: {
    scope: text().primary(),
    reason: text(),
    at: timestamp().defaultRaw('app_now()'),
  },
});

export const IdempotencyKeysTable = defineEntity({
  name: 'IdempotencyKeys',
  tableName: 'idempotency_keys',
  properties: {
    scope: bytes().primary(),
    requestHash: bytes(),
    status: smallint().nullable(),
    body: jsonb().nullable(),
    headers: jsonb().nullable(),
    createdAt: timestamp().defaultRaw('app_now()'),
  },
  indexes: [index('create index idempotency_keys_created_at on idempotency_keys using brin (created_at)')],
});

export const OutboxTable = defineEntity({
  name: 'Outbox',
  tableName: 'outbox',
  properties: {
    id: identity().primary(),
    publication: bigint().nullable(),
    type: text(),
    wallet: wallet().nullable(),
    payload: jsonb(),
    at: timestamp().defaultRaw('app_now()'),
  },
  uniques: [{ name: 'outbox_publication_key', properties: ['publication'] }],
  indexes: [index('create index outbox_unnumbered on outbox (id) where publication is null')],
});

export const OutboxCounterTable = defineEntity({
  name: 'OutboxCounter',
  tableName: 'outbox_counter',
  properties: {
    singleton: boolean().primary().default(true),
    publication: bigint(),
    publishedAt: timestamp(),
    appended: bigint(),
  },
  checks: checks('singleton'),
});

export const SessionsTable = defineEntity({
  name: 'Sessions',
  tableName: 'sessions',
  properties: {
    key: bytes().primary(),
    wallet: wallet(),
    createdAt: timestamp(),
    extendedAt: timestamp(),
    expiresAt: timestamp(),
  },
  checks: checks("expires_at <= (created_at + '720:00:00'::interval)"),
  indexes: [index('create index sessions_expires_at on sessions (expires_at)'), index('create index sessions_wallet on sessions (wallet)')],
});

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

export const WebhookDeliveriesTable = defineEntity({
  name: 'WebhookDeliveries',
  tableName: 'webhook_deliveries',
  properties: {
    source: text().primary(),
    id: byteText().primary(),
    bodyHash: bytes(),
    body: bytes(),
    receivedAt: timestamp().defaultRaw('app_now()'),
    state: oneOf('received', 'worked', 'failed').default('received'),
    attempts: integer().default(0),
    verdict: text().nullable(),
    settledAt: timestamp().nullable(),
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

/** Tables of this area. */
export const platformTables = [
  AdminAuditTable,
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
