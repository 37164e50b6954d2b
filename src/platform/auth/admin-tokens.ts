import { createHash, timingSafeEqual } from 'node:crypto';
import type Koa from 'koa';
import type { AdminToken, Scope } from '#config';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';

const digest = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest();

/** The entry whose token this is. Compares digests, all of them, in constant time. */
export function matchToken<T extends { token: string }>(entries: readonly T[], token: string): T | null {
  const given = digest(token);
  let match: T | null = null;
  for (const entry of entries) if (timingSafeEqual(digest(entry.token), given)) match = entry;
  return match;
}

const bearer = (ctx: Koa.Context) => /^Bearer ([\x21-\x7e]+)$/i.exec(ctx.get('Authorization'))?.[1] ?? null;

/**
 * The admin token that the request carries.
 * @throws 403 when it is missing, wrong, or lacks the scope
 */
export function requireAdminToken(app: App, ctx: Koa.Context, scope: Scope): AdminToken {
  const token = bearer(ctx);
  const entry = token === null ? null : matchToken(app.config.adminTokens, token);
  if (!entry) throw fail(403, 'Authorization must be a Bearer admin token');
  if (!entry.scopes.includes(scope)) throw fail(403, `Authorization must be an admin token with the scope ${scope}`);
  return entry;
}

/** @throws 403 unless the request carries an internal token, or an admin token with the scope money */
export function requireInternalToken(app: App, ctx: Koa.Context): string {
  const token = bearer(ctx);
  const internal = app.config.internalTokens.map((entry) => ({ token: entry }));
  if (token !== null && matchToken(internal, token)) return 'internal';
  return requireAdminToken(app, ctx, 'money').name;
}

const lockAudit = statement('lock_admin_audit', `select pg_advisory_xact_lock(hashtext('admin_audit'))`);
const lastAudit = statement<{ id: string; hash: Buffer; at: string }>(
  'last_admin_audit',
  `select coalesce(max(id), 0)::text as id, coalesce((select hash from admin_audit order by id desc limit 1), ''::bytea) as hash,
          to_char(app_now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at from admin_audit`,
);
const insertAudit = statement(
  'insert_admin_audit',
  'insert into admin_audit (id, at, token_name, method, path, body_hash, previous_hash, hash) values ($1, $2, $3, $4, $5, $6, $7, $8)',
);

/** One admin action: which token did what, with which body. */
export interface AuditedAction {
  tokenName: string;
  method: string;
  /** With the query, as it was asked for. */
  path: string;
  /** SHA-256 of the body's bytes as they came. */
  bodyHash: Buffer;
}

/**
 * Hash of one audit row: sha256(previous hash ‖ JSON of [id, at, token name, method, path, hex body hash]).
 * @param previous hash of the row before, empty for the first
 * @param at UTC, ISO 8601 with microseconds
 */
export function auditHash(previous: Buffer, id: string, at: string, action: AuditedAction): Buffer {
  const fields = JSON.stringify([id, at, action.tokenName, action.method, action.path, action.bodyHash.toString('hex')]);
  return createHash('sha256').update(previous).update(fields).digest();
}

/**
 * Writes down an admin action before it is carried out, so that none goes unrecorded.
 * @param request.body the bytes as they came; of a streamed body nothing, it has not been read yet
 */
export async function auditAdmin(app: App, request: { tokenName: string; method: string; path: string; body: Buffer }): Promise<void> {
  const { tokenName, method, path } = request;
  const action: AuditedAction = { tokenName, method, path, bodyHash: digest(request.body) };
  await app.tx(async (tx) => {
    await tx.query(lockAudit);
    const last = (await tx.query(lastAudit))[0];
    if (!last) throw new Error('admin_audit did not answer');
    const id = String(BigInt(last.id) + 1n);
    const hash = auditHash(last.hash, id, last.at, action);
    await tx.query(insertAudit, [id, last.at, tokenName, method, path, action.bodyHash, last.hash, hash]);
  });
}
