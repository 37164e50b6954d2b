import { setTimeout as sleep } from 'node:timers/promises';
import type { App } from '#platform/app.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { meanwhile } from './meanwhile.ts';
import { PATIENCE } from './patience.ts';

/** Maximum time until a run that must wait for a lock waits for it, ms. */
const BLOCKED_WITHIN_MS = 10_000 * PATIENCE;

/** Selects the server processes of the transactions of the database that wait for a lock. Every role may read these columns of the two views. */
export const WAITING_PROCESSES = `select pid from pg_locks where not granted
  and pid in (select pid from pg_stat_activity where datname = current_database())`;

/** Counts the transactions of the database that wait for a lock. */
export const WAITING = `select count(*)::int as n from (${WAITING_PROCESSES}) waiting`;

/**
 * Waits until another transaction of the test's database waits for a lock.
 * @param run the run that must wait
 * @throws when the run ends without waiting
 */
export async function untilBlocked(app: App, run: Promise<unknown>): Promise<void> {
  const blocked = { text: WAITING };
  const end = run.then(
    () => 'it succeeded',
    (error: unknown) => `it failed: ${error instanceof Error ? error.message : String(error)}`,
  );
  for (const deadline = Date.now() + BLOCKED_WITHIN_MS; Date.now() < deadline; ) {
    const [row] = await app.db.query<{ n: number }>(blocked);
    if ((row?.n ?? 0) > 0) return;
    const outcome = await Promise.race([end, sleep(10)]);
    if (outcome !== undefined) throw new Error(`the run was expected to wait for a lock, but ${outcome}`);
  }
  throw new Error(`the run did not wait for a lock within ${BLOCKED_WITHIN_MS} ms`);
}

/** Runs statements in a transaction and keeps the transaction open. @returns the function that commits it */
export async function holdTransaction(app: App, work: (tx: Tx) => Promise<unknown>): Promise<() => Promise<void>> {
  const [held, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const transaction = app.tx(async (tx) => {
    await work(tx);
    held.resolve();
    await end.promise;
  });
  await Promise.race([held.promise, transaction]);
  return async () => {
    end.resolve();
    await transaction;
  };
}

/**
 * Pauses a run right after a statement, starts another run, and expects that the other run waits for the first.
 * @param name the statement that takes the lock
 * @param first the run that is paused
 * @param second the run that must wait; by default the same work
 * @returns the outcomes of both runs
 */
export async function expectToWait<First, Second = First>(
  app: App,
  name: string,
  first: (app: App) => Promise<First>,
  second?: (app: App) => Promise<Second>,
): Promise<[PromiseSettledResult<First>, PromiseSettledResult<First | Second>]> {
  let waiting: Promise<First | Second> | null = null;
  const paused = meanwhile(app, name, async () => {
    waiting = (second ?? first)(app);
    await untilBlocked(app, waiting);
  });
  const [outcome] = await Promise.allSettled([first(paused)]);
  if (waiting === null) throw new Error(`the first run did not execute ${name}`);
  const [other] = await Promise.allSettled([waiting as Promise<First | Second>]);
  if (outcome.status === 'rejected' && String(outcome.reason).includes('was expected to wait')) throw outcome.reason;
  return [outcome, other];
}
