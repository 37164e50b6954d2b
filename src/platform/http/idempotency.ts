import { createHash } from 'node:crypto';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { type Reply, reply } from './route.ts';

const claim = statement<{ scope: Buffer }>(
  'claim_idempotency_key',
  'insert into idempotency_keys (scope, request_hash) values ($1, $2) on conflict do nothing returning scope',
);
const find = statement<{ request_hash: Buffer; status: number; body: unknown; headers: Record<string, string> | null }>(
  'find_idempotency_key',
  'select request_hash, status, body, headers from idempotency_keys where scope = $1',
);
const keep = statement('keep_idempotent_reply', 'update idempotency_keys set status = $2, body = $3, headers = $4 where scope = $1');
const lockTimeout = statement('idempotency_lock_timeout', `set local lock_timeout = '2s'`);
const noLockTimeout = statement('idempotency_no_lock_timeout', `set local lock_timeout = 0`);

const LOCK_NOT_AVAILABLE = '55P03';
const stillWorking = () => fail(409, 'a request with this Idempotency-Key is still being worked on', { 'Retry-After': '1' });

/** Checks an `Idempotency-Key` header: printable ASCII, at most 255 characters; null when there is none. */
export function idempotencyKey(header: string | undefined): string | null {
  if (header === undefined) return null;
  if (!/^[\x21-\x7e]{1,255}$/.test(header)) throw fail(400, 'Idempotency-Key must be 1 to 255 printable characters');
  return header;
}

/** SHA-256 of the JSON of some values; decoded requests are alike when their hashes are. bigint hashes as its digits. */
export const hashOf = (...parts: unknown[]): Buffer =>
  createHash('sha256')
    .update(JSON.stringify(parts, (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value)))
    .digest();

/**
 * Runs `work` in a transaction and keeps its reply with the key, in that same transaction: a refusal keeps nothing.
 * A concurrent request of the same key waits for the first one's commit, at most 2 s.
 * @param scope what the key is unique within: caller, method, path, key
 * @param request the decoded request, as JSON can hold it
 * @throws 409 when the key came with another request, or its first request is still at work
 */
export async function once<R extends Reply>(app: App, scope: readonly string[], request: unknown, work: (tx: Tx) => Promise<R>): Promise<Reply> {
  const scopeHash = hashOf(scope);
  const requestHash = hashOf(request);
  let waiting = true;
  try {
    return await app.tx(async (tx): Promise<Reply> => {
      await tx.query(lockTimeout);
      const claimed = await tx.query(claim, [scopeHash, requestHash]);
      waiting = false;
      if (claimed.length === 0) return replay(await tx.query(find, [scopeHash]), requestHash);
      await tx.query(noLockTimeout);
      const result = await work(tx);
      await tx.query(keep, [scopeHash, result.status, JSON.stringify(result.body ?? null), JSON.stringify(result.headers ?? {})]);
      return result;
    });
  } catch (error) {
    // Only the wait for the key is a conflict; a lock that the work itself did not get is not.
    if (waiting && error instanceof Error && 'code' in error && error.code === LOCK_NOT_AVAILABLE) throw stillWorking();
    throw error;
  }
}

function replay(
  rows: readonly { request_hash: Buffer; status: number; body: unknown; headers: Record<string, string> | null }[],
  requestHash: Buffer,
): Reply {
  const row = rows[0];
  if (!row) throw stillWorking();
  if (!row.request_hash.equals(requestHash)) throw fail(409, 'Idempotency-Key was used before with another body');
  return reply(row.status, row.body, row.headers ?? {});
}

const EXPIRED_AT_ONCE = 10_000;
const expireKeys = statement<{ n: number }>(
  'expire_idempotency_keys',
  `with gone as (
     delete from idempotency_keys where ctid = any(array(
       select ctid from idempotency_keys where created_at < app_now() - interval '24 hours' limit ${EXPIRED_AT_ONCE})) returning 1)
   select count(*)::int as n from gone`,
);

/** Forgets keys older than 24 h, a bounded number at a time; returns whether there may be more. */
export async function expireIdempotencyKeys(tx: Tx): Promise<boolean> {
  return ((await tx.query(expireKeys))[0]?.n ?? 0) >= EXPIRED_AT_ONCE;
}
