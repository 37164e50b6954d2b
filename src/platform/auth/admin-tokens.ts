import { createHash, timingSafeEqual } from 'node:crypto';
import type Koa from 'koa';
import type { AdminToken, Scope } from '#config';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { queryBuilder, run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import { AdminAuditTable } from './entities.ts';
import { WrongToken } from './wrong-tokens.ts';

const build = queryBuilder([AdminAuditTable]);

const digest = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest();

/**
 * Returns the entry whose token equals `token` and has not expired, or null. Compares the digests of all entries in constant time, so that the
 * duration reveals nothing about the configured tokens.
 */
export function matchToken<T extends { token: string; expiresAt: number | null }>(app: App, entries: readonly T[], token: string): T | null {
  const given = digest(token);
  let match: T | null = null;
  for (const entry of entries) if (timingSafeEqual(digest(entry.token), given)) match = entry;
  return match === null || (match.expiresAt !== null && match.expiresAt <= app.clock.now().getTime()) ? null : match;
}

const NOT_A_TOKEN = 'Authorization must be a Bearer admin token';
const bearer = (ctx: Koa.Context) => /^Bearer ([\x21-\x7e]+)$/i.exec(ctx.get('Authorization'))?.[1] ?? null;

/**
 * Returns the admin token that the request sends as a Bearer token.
 * @throws 403 when the token is missing or wrong (`WrongToken`), or lacks the scope
 */
export function requireAdminToken(app: App, ctx: Koa.Context, scope: Scope): AdminToken {
  const token = bearer(ctx);
  const entry = token === null ? null : matchToken(app, app.config.adminTokens, token);
  if (!entry) throw token === null ? fail(403, NOT_A_TOKEN) : new WrongToken(403, NOT_A_TOKEN);
  if (!entry.scopes.includes(scope)) throw fail(403, `Authorization must be an admin token with the scope ${scope}`);
  return entry;
}

/**
 * Returns the name of the token that the request sends: an internal token, or an admin token with the scope `money`. Each name belongs to one token.
 * @throws 403 when the token is missing or wrong, or lacks the scope
 */
export function requireInternalToken(app: App, ctx: Koa.Context): string {
  const token = bearer(ctx);
  const internal = token === null ? null : matchToken(app, app.config.internalTokens, token);
  if (internal) return internal.name;
  return requireAdminToken(app, ctx, 'money').name;
}

/** Locks the audit log for inserts until the transaction ends, so that each row contains the hash of the row before it. */
const lockAudit = statement('lock_admin_audit', `select pg_advisory_xact_lock(hashtext('admin_audit'))`);
const lastAudit = statement<{ id: string; hash: Buffer; at: string }>(
  'last_admin_audit',
  `select coalesce(max(id), 0)::text as id, coalesce((select hash from admin_audit order by id desc limit 1), ''::bytea) as hash,
          to_char(date_trunc('milliseconds', app_now()) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at from admin_audit`,
);

/** A request with an admin token, as the audit log records it. */
export interface AdminAction {
  tokenName: string;
  method: string;
  /** Path with the query string, as requested. */
  path: string;
  /** SHA-256 of the raw request body. */
  bodyHash: Buffer;
}

/**
 * Returns the hash of an audit row: sha256(previous hash ‖ JSON of [id, at, token name, method, path, hex body hash]).
 * @param previous the hash of the row before this row; empty for the first row
 * @param at the time of the request, ISO 8601 in UTC with six decimals; the service stores milliseconds, so the last three decimals are zeros
 */
export function auditHash(previous: Buffer, id: string, at: string, action: AdminAction): Buffer {
  const fields = JSON.stringify([id, at, action.tokenName, action.method, action.path, action.bodyHash.toString('hex')]);
  return createHash('sha256').update(previous).update(fields).digest();
}

/**
 * Inserts an admin action into the audit log. The caller waits for the insert before it runs the action, so that no action is missing from the log.
 * @param request.body the raw body; empty when the body is a stream, because the stream has not been read yet
 */
export async function recordAdminAction(app: App, request: { tokenName: string; method: string; path: string; body: Buffer }): Promise<void> {
  const { tokenName, method, path } = request;
  const action: AdminAction = { tokenName, method, path, bodyHash: digest(request.body) };
  await app.tx(async (tx) => {
    await tx.query(lockAudit);
    const last = (await tx.query(lastAudit))[0];
    if (!last) throw new Error('the query for the last row of admin_audit returned no row');
    const id = String(BigInt(last.id) + 1n);
    const hash = auditHash(last.hash, id, last.at, action);
    const row = { id, at: last.at, token_name: tokenName, method, path, body_hash: action.bodyHash, previous_hash: last.hash, hash };
    await run(tx, build.insertInto('admin_audit').values(row));
  });
}
