import { defineEntity } from '@mikro-orm/core';
import { bigint, bytes, checks, index, integer, jsonb, numeric, oneOf, text, timestamp, trigger, uuid, wallet } from '#platform/db/columns.ts';
import { APPROVAL_KINDS } from './config.ts';
import { TRANSPORTS } from './session-record.ts';

/** A row is a request with an admin token. Rows are never changed or deleted, and each row contains the hash of the row before it. */
export const AdminAuditTable = defineEntity({
  name: 'AdminAudit',
  tableName: 'admin_audit',
  properties: {
    /** Counts from 1 without gaps. */
    id: bigint().primary(),
    at: timestamp(),
    tokenName: text(),
    method: text(),
    path: text(),
    /** SHA-256 of the raw body of the request. */
    bodyHash: bytes(),
    previousHash: bytes(),
    /** SHA-256 of the previous hash and the other columns; see `auditHash` in auth/admin-tokens.ts. */
    hash: bytes(),
  },
  uniques: [{ name: 'admin_audit_hash_key', properties: ['hash'] }],
  triggers: [
    trigger(
      'create trigger admin_audit_append_only before delete or update or truncate on admin_audit for each statement execute function refuse_change()',
    ),
  ],
});

/** A row is the session of a signed-in wallet. */
export const SessionsTable = defineEntity({
  name: 'Sessions',
  tableName: 'sessions',
  properties: {
    /** SHA-256 of the session id in the cookie or token, so that a reader of this table cannot take over a session. */
    key: bytes().primary(),
    wallet: wallet(),
    createdAt: timestamp(),
    extendedAt: timestamp(),
    expiresAt: timestamp(),
    transport: oneOf(...TRANSPORTS).default('cookie'),
    /** The only origin that may use the session; null for any. */
    origin: text().nullable(),
  },
  checks: checks(
    "expires_at <= (created_at + '720:00:00'::interval)",
    "(transport = 'cookie') or (expires_at <= (created_at + '24:00:00'::interval))",
    "(origin is null) or (transport = 'bearer')",
  ),
  indexes: [
    index('create index sessions_expires_at on sessions (expires_at)'),
    index('create index sessions_wallet on sessions (wallet, created_at desc, key)'),
  ],
});

/** A row is a ticket with which one WebSocket can be opened for a session. */
export const SessionTicketsTable = defineEntity({
  name: 'SessionTickets',
  tableName: 'session_tickets',
  properties: {
    /** SHA-256 of the ticket. */
    key: bytes().primary(),
    /** Key of the session in `sessions`. The session may have ended; then the ticket is refused. */
    sessionKey: bytes(),
    expiresAt: timestamp(),
  },
  indexes: [index('create index session_tickets_expires_at on session_tickets (expires_at)')],
});

/** A row is an action that one token requested and another token must approve. */
export const ApprovalsTable = defineEntity({
  name: 'Approvals',
  tableName: 'approvals',
  properties: {
    id: uuid().primary(),
    kind: oneOf(...APPROVAL_KINDS),
    /** approved: the action ran in the transaction that set this state. */
    state: oneOf('pending', 'approved', 'refused').default('pending'),
    amount: numeric(),
    /** One sentence that tells the second operator what the action does. */
    summary: text(),
    /** What the action needs, in the form that its kind defines. */
    payload: jsonb(),
    requestedBy: text(),
    requestedAt: timestamp().defaultRaw('app_now()'),
    decidedBy: text().nullable(),
    decidedAt: timestamp().nullable(),
  },
  checks: checks(
    "(state = 'pending') = (decided_at is null)",
    "(state = 'pending') = (decided_by is null)",
    "(decided_by <> requested_by) or (state = 'refused')",
  ),
  indexes: [index('create index approvals_listed on approvals (state, id)')],
});

/** A row is the sum of the amounts that a token used on a day without an approval. */
export const ApprovalSumsTable = defineEntity({
  name: 'ApprovalSums',
  tableName: 'approval_sums',
  properties: {
    /** UTC days since 1970-01-01. */
    day: integer().primary(),
    kind: text().primary(),
    token: text().primary(),
    amount: numeric(),
  },
});
