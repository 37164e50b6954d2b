import { createHash } from 'node:crypto';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { afterOthers } from '#platform/db/turns.ts';
import { type Reply, reply } from './route.ts';

const insertKey = statement<{ scope: Buffer }>(
  'insert_idempotency_key',
  'insert into idempotency_keys (scope, request_hash) values ($1, $2) on conflict do nothing returning scope',
);
interface StoredReply {
  request_hash: Buffer;
  status: number;
  body: unknown;
  headers: Record<string, string> | null;
}
const findReply = statement<StoredReply>('find_idempotency_key', 'select request_hash, status, body, headers from idempotency_keys where scope = $1');
const storeReply = statement('store_idempotent_reply', 'update idempotency_keys set status = $2, body = $3, headers = $4 where scope = $1');
const lockTimeout = statement('idempotency_lock_timeout', `set local lock_timeout = '2s'`);
const noLockTimeout = statement('idempotency_no_lock_timeout', `set local lock_timeout = 0`);

/** Maximum time for which a request waits for another request of this process with its key, ms. In the database it waits as long. */
const KEY_WAIT_MS = 2_000;
const LOCK_NOT_AVAILABLE = '55P03';
const requestInFlight = () => fail(409, 'a request with this Idempotency-Key is still in progress', { 'Retry-After': '1' });

/**
 * Validates an `Idempotency-Key` header and returns it; null without the header.
 * @throws 400 unless the key is 1 to 255 printable ASCII characters
 */
export function checkIdempotencyKey(header: string | undefined): string | null {
  if (header === undefined) return null;
  if (!/^[\x21-\x7e]{1,255}$/.test(header)) throw fail(400, 'Idempotency-Key must be 1 to 255 printable characters');
  return header;
}

/** Returns the SHA-256 of the JSON of some values. Each bigint becomes a string of its digits, because JSON has no bigint. */
const hashJson = (...parts: unknown[]): Buffer =>
  createHash('sha256')
    .update(JSON.stringify(parts, (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value)))
    .digest();

/**
 * Runs `work` in a transaction and stores its reply under an idempotency key in the same transaction. A repeated request gets the stored reply
 * without running `work`. When `work` throws, nothing is stored. A concurrent request with the same key waits at most 2 s for the commit of the first
 * request.
 * @param scope the caller, the method, the path and the key; together they identify the stored reply
 * @param request the decoded request, JSON values and bigints only; a repeated request must have the same value
 * @throws 409 when the key was used with another request, or when the first request with the key is still in flight
 */
export async function runOnce<R extends Reply>(app: App, scope: readonly string[], request: unknown, work: (tx: Tx) => Promise<R>): Promise<Reply> {
  const scopeHash = hashJson(scope);
  // The requests of this process take turns, so that at most one of them waits for its key in the database.
  const turn = { waitMs: KEY_WAIT_MS, refusal: requestInFlight };
  return await afterOthers(app, `once ${scopeHash.toString('base64')}`, () => runWithKey(app, scopeHash, hashJson(request), work), turn);
}

async function runWithKey<R extends Reply>(app: App, scopeHash: Buffer, requestHash: Buffer, work: (tx: Tx) => Promise<R>): Promise<Reply> {
  let waitsForKey = true;
  try {
    return await app.tx(async (tx): Promise<Reply> => {
      await tx.query(lockTimeout);
      const claimed = await tx.query(insertKey, [scopeHash, requestHash]);
      waitsForKey = false;
      if (claimed.length === 0) return replay((await tx.query(findReply, [scopeHash]))[0], requestHash);
      await tx.query(noLockTimeout);
      const result = await work(tx);
      await tx.query(storeReply, [scopeHash, result.status, JSON.stringify(result.body ?? null), JSON.stringify(result.headers ?? {})]);
      return result;
    });
  } catch (error) {
    // A lock timeout means a conflict only while the request waits for its key. A lock timeout inside `work` is rethrown.
    if (waitsForKey && error instanceof Error && 'code' in error && error.code === LOCK_NOT_AVAILABLE) throw requestInFlight();
    throw error;
  }
}

function replay(row: StoredReply | undefined, requestHash: Buffer): Reply {
  if (!row) throw requestInFlight();
  if (!row.request_hash.equals(requestHash)) throw fail(409, 'Idempotency-Key was used before with another body');
  return reply(row.status, row.body, row.headers ?? {});
}

/** Maximum keys that one purge deletes. */
const MAX_PURGED = 10_000;
const purgeKeys = statement<{ n: number }>(
  'purge_idempotency_keys',
  `with deleted as (
     delete from idempotency_keys where ctid = any(array(
       select ctid from idempotency_keys where created_at < (select app_now()) - interval '24 hours' limit ${MAX_PURGED})) returning 1)
   select count(*)::int as n from deleted`,
);

/** Deletes at most `MAX_PURGED` keys that are older than 24 h. Returns whether more expired keys may exist. */
export async function purgeIdempotencyKeys(tx: Tx): Promise<boolean> {
  return ((await tx.query(purgeKeys))[0]?.n ?? 0) >= MAX_PURGED;
}
