import { defineEntity } from '@mikro-orm/core';
import { AdminAuditTable, ApprovalSumsTable, ApprovalsTable, SessionsTable, SessionTicketsTable } from '#platform/auth/entities.ts';
import {
  bigint,
  boolean,
  bytes,
  byteText,
  checks,
  identity,
  index,
  integer,
  interval,
  json,
  jsonb,
  oneOf,
  smallint,
  text,
  timestamp,
  trigger,
  wallet,
} from '#platform/db/columns.ts';
import { StorageTotalsTable, StorageUsageTable } from '#platform/quotas/entities.ts';
import type { WebhookSource } from '#platform/webhooks/config.ts';
import { ChainAttemptsTable, ChainOutflowsTable, ChainPausesTable, ChainTransactionsTable } from './chain-entities.ts';

/**
 * The one row is the difference between `app_now()` and the system time. Only tests and development insert it. A trigger copies it into the function
 * `app_shift`.
 */
export const AppClockTable = defineEntity({
  name: 'AppClock',
  tableName: 'app_clock',
  properties: {
    singleton: boolean().primary().default(true),
    shift: interval(),
  },
  checks: checks('singleton'),
  triggers: [
    trigger('create trigger set_app_shift after insert or delete or update on app_clock for each statement execute function set_app_shift()'),
  ],
});

export { ChainAttemptsTable, ChainOutflowsTable, ChainPausesTable, ChainTransactionsTable };

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
    payload: json(),
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
  SessionTicketsTable,
  SettingsTable,
  StorageUsageTable,
  StorageTotalsTable,
  WebhookDeliveriesTable,
] as const;
