import { gather } from '#lib/concurrency/gather.ts';
import { HttpError } from '#lib/errors.ts';
import { type App, perApp } from '#platform/app.ts';
import type { Statement } from '#platform/db/sql.ts';
import { freeLeased, leaseTransactions, REFUSED } from '../carry.ts';
import { composeOnBoth } from '../compose-on-both.ts';
import { addSigning } from '../jobs.ts';
import { DailyLimitReached, outflowLeft, SOL } from '../outflows.ts';
import { selectPauseOfType } from '../pauses.ts';
import type { Priority } from '../priorities.ts';
import { postpone, selectTransactions, settleQueued, storedError, type TransactionRow } from '../rows.ts';
import type { CarriedTransactions, ChainError, ComposeOutcome, TransactionDraft, TransactionType } from '../transaction-type.ts';
import { signAttempt } from './attempt.ts';
import { MINIMUM_FEE } from './fees.ts';
import { signFurther } from './further.ts';

/** Maximum failed simulations; then the transaction ends as failed. */
const MAX_SIMULATIONS = 12;
/** Delay before the first retry, ms. It doubles with each retry, up to the maximum. */
const RETRY_MS = 500;
const MAX_RETRY_MS = 60_000;
/** Maximum delay before a retry while the RPC node or the database is down, ms. */
const MAX_OUTAGE_RETRY_MS = 5_000;
/** Delay before a retry while the scope of the transaction is paused, ms. */
const PAUSED_RETRY_MS = 15_000;
/**
 * Minimum delay before a retry while a daily limit is reached, ms. A random delay of up to the same length is added, so that the transactions that
 * wait are not all composed at the same time.
 */
const LIMIT_RETRY_MS = 30_000;

/** Maximum delay after which this process itself enqueues the signing of a waiting transaction again, ms. */
const MAX_OWN_DELAY_MS = 2_000;

/** The reads that transactions share which are signed at the same time. `pause` has one key per type, `left` one per class. */
const shared = perApp((app) => ({
  rows: gather(async (ids: readonly string[]) => new Map((await app.db.query(selectTransactions, [ids])).map((row) => [row.id, row]))),
  pause: gather(async ([{ scope, name }]: readonly [TransactionType, ...TransactionType[]]) => await app.db.query(selectPauseOfType, [scope, name])),
  left: gather(async ([priority]: readonly [Priority, ...Priority[]]) => await outflowLeft(app, SOL, priority)),
}));

/**
 * Composes, simulates and signs a transaction, commits the signed bytes, reads them back and sends them. For a live transaction, signs a further attempt.
 * If the process stops before the commit, nothing was sent; if it stops after the commit, polling sends the committed bytes.
 * If two workers sign the same row, only one commits; the other discards its signed transaction.
 */
export async function signAndSend(app: App, types: ReadonlyMap<string, TransactionType>, id: string): Promise<void> {
  const { rows, pause, left } = app.state(shared);
  const read = (await rows('', id)).get(id);
  if (!read?.due) return;
  const type = types.get(read.type);
  if (!type) throw new Error(`unknown transaction type: ${read.type}`);
  if (read.state === 'live') return await signFurther(app, type, read);
  if (read.state !== 'queued') return;
  const paused = (await pause(type.name, type))[0];
  if (paused) return await postponeBy(app, read, PAUSED_RETRY_MS, { name: 'Paused', message: paused.reason, instruction: null, code: null });
  let row = read;
  let claimed: CarriedTransactions | null = null;
  try {
    // While the limit of SOL is reached, the transaction is not composed, so that waiting transactions send no requests to the RPC node.
    if ((await left(row.priority, row.priority)) < MINIMUM_FEE) throw new DailyLimitReached(SOL);
    const leased = await leaseTransactions(app, type, row);
    if (leased === null) return;
    ({ row, claimed } = leased);
    const composed = await composeOnBoth(app, type, row.subject, claimed);
    const outcome = composed.do === 'sign' ? await signDraft(app, type, row, composed) : composed;
    if (outcome !== null) await applyOutcome(app, type, row, outcome);
  } catch (error) {
    if (error instanceof DailyLimitReached) {
      app.log.error(
        { type: type.name, subject: row.subject, asset: error.asset, priority: row.priority },
        'the daily limit of an asset is reached, or its rest is reserved for other transactions; the transaction waits',
      );
      const delayMs = Math.round(LIMIT_RETRY_MS * (1 + Math.random()));
      return await postponeBy(app, row, delayMs, { name: 'OverLimit', message: error.message, instruction: null, code: null });
    }
    // An HttpError only reports that a dependency is unavailable, so it is not logged as an error here. After any error, composing is retried without
    // limit.
    if (!(error instanceof HttpError))
      app.log.error({ err: error, type: type.name, subject: row.subject }, 'composing a transaction failed; it is retried');
    const reason = error instanceof Error ? error.message : String(error);
    // Adds 1 to `tries`, which also makes the next retry delay longer. Errors raise `tries` only up to half of MAX_SIMULATIONS, so that the first
    // failed simulations after an outage do not end the transaction as failed.
    const tries = Math.max(row.tries, Math.min(row.tries + 1, MAX_SIMULATIONS / 2));
    await write(app, postpone, [
      row.id,
      Math.min(MAX_OUTAGE_RETRY_MS, backoff(row.tries)),
      storedError({ name: 'Unavailable', message: reason, instruction: null, code: null }),
      tries,
    ]);
  } finally {
    if (claimed !== null) await freeLeased(app, claimed);
  }
}

const backoff = (tries: number) => Math.min(MAX_RETRY_MS, RETRY_MS * 2 ** Math.min(tries, 10));

const write = async (app: App, statement: Statement<unknown>, values: readonly unknown[]): Promise<void> =>
  void (await app.tx((tx) => tx.query(statement, values)));

const postponeBy = async (app: App, row: TransactionRow, delayMs: number, error: ChainError) =>
  await write(app, postpone, [row.id, delayMs, storedError(error), row.tries]);

/** The outcome of a failed simulation that is retried later. */
interface RetrySimulation {
  readonly do: 'retry';
  readonly error: ChainError;
}

/** Signs and sends an attempt. @returns the outcome to apply when the simulation failed; otherwise null */
async function signDraft(
  app: App,
  type: TransactionType,
  row: TransactionRow,
  draft: TransactionDraft,
): Promise<ComposeOutcome | RetrySimulation | null> {
  const result = await signAttempt(app, type, row, draft);
  if (result.is !== 'refused') return null;
  return (await type.simulationFailed?.(app, row.subject, result.error, draft)) ?? retryOrFail(row, result.error);
}

const retryOrFail = (row: TransactionRow, error: ChainError): ComposeOutcome | RetrySimulation =>
  row.tries + 1 >= MAX_SIMULATIONS ? { do: 'fail', error } : { do: 'retry', error };

/**
 * Enqueues the signing again after a short delay, because `enqueueDue` runs seldom while many transactions wait. If this process ends before, `enqueueDue` finds
 * the transaction.
 */
function enqueueAfter(app: App, row: TransactionRow, delayMs: number): void {
  if (delayMs > MAX_OWN_DELAY_MS) return;
  const enqueue = () => {
    addSigning(app.queues, [row]).catch(() => undefined);
  };
  setTimeout(enqueue, delayMs + 1).unref();
}

/** Stores the outcome of composing a transaction, and runs the hooks of the transaction's type. */
async function applyOutcome(app: App, type: TransactionType, row: TransactionRow, outcome: ComposeOutcome | RetrySimulation): Promise<void> {
  const { id, subject } = row;
  switch (outcome.do) {
    case 'retry':
      return await write(app, postpone, [id, backoff(row.tries), storedError(outcome.error), row.tries + 1]);
    case 'wait': {
      // A wait does not change `tries`: `tries` limits the number of failed simulations, and the number of waits has no limit.
      const error: ChainError = { name: outcome.isRefused ? REFUSED : 'Waiting', message: outcome.reason, instruction: null, code: null };
      await write(app, postpone, [id, outcome.ms, storedError(error), row.tries]);
      return enqueueAfter(app, row, outcome.ms);
    }
    case 'done': {
      const { signature, slot } = outcome;
      return await app.tx(async (tx) => {
        const moved = await tx.query(settleQueued, [id, 'finalized', signature, slot, null]);
        if (moved.length > 0) await type.finalized(tx, [{ subject, signature, slot }]);
      });
    }
    case 'fail':
      return await app.tx(async (tx) => {
        const moved = await tx.query(settleQueued, [id, 'failed', null, null, storedError(outcome.error)]);
        if (moved.length > 0) await type.failed(tx, [{ subject, signature: null, error: outcome.error }]);
      });
    case 'manual': {
      app.log.error({ type: type.name, subject, reason: outcome.reason }, 'a transaction cannot be composed; an operator must decide');
      const error: ChainError = { name: 'Manual', message: outcome.reason, instruction: null, code: null };
      return await write(app, settleQueued, [id, 'manual', null, null, storedError(error)]);
    }
  }
}
