import { setTimeout as sleep } from 'node:timers/promises';
import { FairQueue, PlaceRefused } from '#lib/concurrency/fair-queue.ts';
import type { HttpError } from '#lib/errors.ts';
import { type App, perApp } from '#platform/app.ts';
import { tooManyRequests } from '#platform/auth/rate-limit.ts';
import { statement } from './sql.ts';
import type { Tx } from './transaction.ts';

/** One turn at a time per key, and the maximum number of requests of this process that have or await a turn of one key. */
const PER_KEY = { running: 1, inFlight: 128 };
const UNBOUNDED = { running: Number.POSITIVE_INFINITY, inFlight: Number.POSITIVE_INFINITY };
/** Maximum time for which a request waits for its turn, ms. */
const WAIT_MS = 15_000;
/** Delays before the attempts to take a lock that a transaction of another process holds, ms. */
const RETRY_DELAYS_MS = [10, 20, 40, 80, 160, 320];

/** Thrown by `takeLock`. `inTurn` then runs the work again. */
class LockHeld extends Error {}

const tryLock = statement<{ taken: boolean }>('try_lock', 'select pg_try_advisory_xact_lock(hashtextextended($1, $2::int8)) as taken');

/**
 * Takes an advisory lock until the transaction ends. Does not wait for the lock, so that no transaction keeps a connection while it waits. Precondition:
 * the transaction runs in the work of `inTurn`.
 * @param seed number of the kind of locks; two kinds with the same seed share their locks
 * @throws LockHeld when another transaction holds the lock
 */
export async function takeLock(tx: Tx, key: string, seed: number): Promise<void> {
  const [lock] = await tx.query(tryLock, [key, seed]);
  if (!lock?.taken) throw lockHeld();
}

/** SQLSTATE `unique_violation`. */
const UNIQUE_VIOLATION = '23505';

/** Returns whether an error is a unique violation: another transaction has inserted the same row. */
export const isConflict = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === UNIQUE_VIOLATION;

/**
 * Makes `inTurn` run its work again after a unique violation, because another transaction has inserted the same row.
 * @throws LockHeld after a unique violation; otherwise the given error
 */
export function runAgainAfterConflict(error: unknown): never {
  throw isConflict(error) ? lockHeld() : error;
}

/** Creates the error after which `inTurn` runs its work again, for statements that take a lock themselves. */
export const lockHeld = (): Error => new LockHeld('another transaction holds the lock');

const turns = perApp(() => new FairQueue(UNBOUNDED, WAIT_MS));

const tooMany = () =>
  tooManyRequests('too many requests change the same data at once, try again later', {
    name: 'turns',
    quota: PER_KEY.inFlight,
    windowMs: null,
    waitMs: 1_000,
  });

/**
 * Runs work after the earlier work of this process with the same key has ended, so that the requests of one key wait for each other without database
 * connections.
 * @param options.waitMs maximum time for which the work waits, ms
 * @param options.refusal creates the error when too much work has this key, or when the work has waited too long
 */
export async function afterOthers<T>(
  app: App,
  key: string,
  work: () => Promise<T>,
  { waitMs, refusal }: { waitMs: number; refusal: () => HttpError },
): Promise<T> {
  const queue = app.state(turns);
  const place = queue.enter(key, PER_KEY);
  if (typeof place === 'string') throw refusal();
  try {
    await queue.start(place, waitMs);
    return await work();
  } catch (error) {
    throw error instanceof PlaceRefused ? refusal() : error;
  } finally {
    queue.leave(place);
  }
}

/**
 * Runs work that takes a lock. The requests of this process with the same key take turns, in the order of their calls. When a transaction of another
 * process holds the lock, the work runs again after a short delay, a few times.
 * @param key name of the lock
 * @throws 429 when too many requests wait for the lock, or when the lock cannot be taken
 */
export const inTurn = <T>(app: App, key: string, work: () => Promise<T>): Promise<T> =>
  afterOthers(app, key, () => retryWhileHeld(work), { waitMs: WAIT_MS, refusal: tooMany });

async function retryWhileHeld<T>(work: () => Promise<T>): Promise<T> {
  for (const delay of [...RETRY_DELAYS_MS, null]) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof LockHeld)) throw error;
      if (delay !== null) await sleep(delay * (0.5 + Math.random()));
    }
  }
  throw tooMany();
}
