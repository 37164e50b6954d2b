import type { App } from '#platform/app.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { observeAttempts } from '#platform/observability/metrics/metrics.ts';
import { freeCarried, settleCarried } from './carry.ts';
import { enqueueSigning } from './jobs.ts';
import { releaseOutflows, SOL } from './outflows.ts';
import { type PendingAttempt, readSpends, storedError } from './rows.ts';
import { handOver, hasSeveralLive, reserveForLanded } from './siblings.ts';
import type { ChainError, Spend, TransactionType } from './transaction-type.ts';
import { lockTransactions, transitionAttempts } from './transition-rows.ts';

/** A state change of an attempt. */
export interface Transition {
  readonly attempt: PendingAttempt;
  readonly to: 'sent' | 'confirmed' | 'finalized' | 'failed' | 'dead';
  readonly slot: number | null;
  readonly error: ChainError | null;
}

/** Maximum attempts per database transaction. */
const MAX_BATCH = 256;
/** Maximum number of attempts of one transaction that fail on the chain. After this number the transaction ends as failed. */
const MAX_CHAIN_FAILURES = 4;

/**
 * Changes the states of attempts and runs the hooks of their types, for many attempts in one database transaction. If this database transaction
 * fails, the state changes are applied one by one, so that one failing hook does not block the other attempts.
 * @returns the state changes that took effect
 */
export async function applyTransitions(
  app: App,
  types: ReadonlyMap<string, TransactionType>,
  transitions: readonly Transition[],
): Promise<Transition[]> {
  const groups = Map.groupBy(transitions, ({ attempt, to }) => `${attempt.type}\n${to}`);
  const applied: Transition[] = [];
  for (const group of groups.values()) {
    for (let i = 0; i < group.length; i += MAX_BATCH) applied.push(...(await applyBatch(app, types, group.slice(i, i + MAX_BATCH))));
  }
  return applied;
}

async function applyBatch(app: App, types: ReadonlyMap<string, TransactionType>, batch: readonly Transition[]): Promise<Transition[]> {
  const first = batch[0];
  const type = first && types.get(first.attempt.type);
  if (!first || !type) return [];
  try {
    const applied = await app.tx((tx) => applyIn(tx, type, first.to, batch));
    const ages = applied.map(({ attempt }) => attempt.age);
    observeAttempts(type.name, first.to === 'sent' ? 'retracted' : first.to, ages);
    return applied;
  } catch (err) {
    if (batch.length === 1) {
      app.log.error(
        { err, type: type.name, subject: first.attempt.subject, to: first.to },
        'the state change of a transaction failed; the next poll retries it',
      );
      return [];
    }
    const applied: Transition[] = [];
    for (const transition of batch) applied.push(...(await applyBatch(app, types, [transition])));
    return applied;
  }
}

/** An applied state change. `decisive`: the state of the transaction changed with that of its attempt. */
interface Applied extends Transition {
  readonly decisive: boolean;
}

async function applyIn(tx: Tx, type: TransactionType, to: Transition['to'], batch: readonly Transition[]): Promise<Transition[]> {
  await tx.query(lockTransactions, [batch.map(({ attempt }) => attempt.id)]);
  const over = batch.filter((transition) => isOver(type, transition));
  const again = batch.filter((transition) => !over.includes(transition));
  const applied = [
    ...(await compareAndSet(tx, type, over, to, stateAfter(to, true))),
    ...(await compareAndSet(tx, type, again, to, stateAfter(to, false))),
  ];
  const decisive = applied.filter((one) => one.decisive);
  const landed = decisive.map(({ attempt, slot }) => ({ subject: attempt.subject, signature: attempt.signature, slot }));
  switch (to) {
    case 'confirmed':
      if (decisive.length > 0) await type.confirmed?.(tx, landed);
      break;
    case 'sent':
      if (decisive.length > 0)
        await type.retracted?.(
          tx,
          decisive.map(({ attempt }) => attempt.subject),
        );
      break;
    case 'finalized':
      if (decisive.length > 0) await type.finalized(tx, [...landed, ...(await settleCarried(tx, decisive))]);
      if (hasSeveralLive(type))
        await reserveForLanded(
          tx,
          applied.map(({ attempt }) => attempt),
        );
      break;
    default:
      await settleFailures(tx, type, to, applied);
  }
  return applied;
}

/**
 * Releases the reserved spends of failed and expired attempts, and the transactions that they carried. Then ends each transaction without a live attempt
 * as failed, or enqueues its signing, which composes it again.
 */
async function settleFailures(tx: Tx, type: TransactionType, to: 'failed' | 'dead', applied: readonly Applied[]): Promise<void> {
  const attempts = applied.map(({ attempt }) => attempt);
  // Before the spends are released: signing locks the row of a transaction first and the spends last, so the other order could deadlock with it.
  await freeCarried(
    tx,
    attempts.flatMap(({ carried }) => carried),
  );
  for (const attempt of hasSeveralLive(type) ? await handOver(tx, attempts) : attempts) {
    await releaseOutflows(tx, attempt.spend_day, attempt.priority, to === 'dead' ? readSpends(attempt.spends) : returnedSpends(attempt));
  }
  // Several attempts of one transaction may end at once, which is one failure of the transaction.
  const ended = [...new Map(applied.filter(({ decisive }) => decisive).map((one) => [one.attempt.id, one])).values()];
  const failures = ended
    .filter((transition) => isOver(type, transition))
    .map(({ attempt, error }) => ({ subject: attempt.subject, signature: attempt.signature, error: error ?? UNKNOWN_ERROR }));
  if (failures.length > 0) await type.failed(tx, failures);
  for (const transition of ended) {
    // A transaction whose next attempt is delayed is enqueued by `enqueueDue` when the attempt is due.
    if (!isOver(type, transition) && delayOf(type, transition) === 0) enqueueSigning(tx, transition.attempt);
  }
}

/**
 * Returns the spends that a failed attempt did not spend. The chain charged the fee and nothing else, because a failed transaction has no other
 * effect. All SOL of an attempt without a stored fee counts as spent.
 */
function returnedSpends(attempt: PendingAttempt): Spend[] {
  const fee = attempt.fee === null ? null : BigInt(attempt.fee);
  return readSpends(attempt.spends).map(({ asset, amount }) =>
    asset === SOL ? { asset, amount: fee === null ? 0n : amount - fee } : { asset, amount },
  );
}

/** Returns the delay before the next attempt of a transaction, ms. */
const delayOf = (type: TransactionType, { attempt, to }: Transition): number =>
  to === 'failed' ? (type.failureDelayMs?.(attempt.refusals + 1) ?? 0) : 0;

const UNKNOWN_ERROR: ChainError = { name: 'Unknown', message: 'the chain rejected the transaction', instruction: null, code: null };

/** Returns whether the failure of this attempt also ends its transaction. */
const isOver = (type: TransactionType, { attempt, to }: Transition) =>
  (to === 'failed' || to === 'dead') && (type.afterFailure === 'over' || (to === 'failed' && attempt.refusals + 1 >= MAX_CHAIN_FAILURES));

function stateAfter(to: Transition['to'], over: boolean): string {
  if (to === 'sent') return 'live';
  if (to === 'failed' || to === 'dead') return over ? 'failed' : 'queued';
  return to;
}

/**
 * Changes the rows of attempts that are still pending. If two processes apply the same state change, only the first one changes rows and runs hooks.
 */
async function compareAndSet(
  tx: Tx,
  type: TransactionType,
  transitions: readonly Transition[],
  to: Transition['to'],
  state: string,
): Promise<Applied[]> {
  if (transitions.length === 0) return [];
  const rows = await tx.query(transitionAttempts, [
    transitions.map(({ attempt }) => attempt.id),
    transitions.map(({ attempt }) => attempt.n),
    transitions.map(({ slot }) => slot),
    transitions.map(({ error }) => (error ? storedError(error) : null)),
    to,
    state,
    transitions.map((transition) => delayOf(type, transition)),
  ]);
  return transitions.flatMap((transition) => {
    const row = rows.find(({ id, n }) => id === transition.attempt.id && n === transition.attempt.n);
    // The reservation of the attempt may have changed since the poll read it.
    return row ? [{ ...transition, attempt: { ...transition.attempt, spends: row.spends }, decisive: row.decisive }] : [];
  });
}
