import type { App } from '#platform/app.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { observeAttempts } from '#platform/observability/metrics/metrics.ts';
import { signTransaction } from './jobs.ts';
import { release } from './outflows.ts';
import { moveAttempts, type PendingAttempt, spendsOf, storedError } from './rows.ts';
import type { ChainError, TransactionType } from './transaction-type.ts';

/** Where an attempt goes, and why. */
export interface Verdict {
  readonly attempt: PendingAttempt;
  readonly to: 'sent' | 'confirmed' | 'finalized' | 'failed' | 'dead';
  readonly slot: number | null;
  readonly error: ChainError | null;
}

/** Attempts whose books are kept in one transaction. */
const AT_ONCE = 256;
/** Attempts that landed as errors, before a transaction that is composed again each time is over. */
const MOST_REFUSALS = 4;

/**
 * Moves attempts and keeps the books of their kinds, many in one transaction. Where one of them makes the books fail, the
 * others are kept one by one.
 * @returns the verdicts that took effect
 */
export async function move(app: App, kinds: ReadonlyMap<string, TransactionType>, verdicts: readonly Verdict[]): Promise<Verdict[]> {
  const groups = Map.groupBy(verdicts, ({ attempt, to }) => `${attempt.kind}\n${to}`);
  const moved: Verdict[] = [];
  for (const group of groups.values()) {
    for (let i = 0; i < group.length; i += AT_ONCE) moved.push(...(await moveTogether(app, kinds, group.slice(i, i + AT_ONCE))));
  }
  return moved;
}

async function moveTogether(app: App, kinds: ReadonlyMap<string, TransactionType>, group: readonly Verdict[]): Promise<Verdict[]> {
  const first = group[0];
  const kind = first && kinds.get(first.attempt.kind);
  if (!first || !kind) return [];
  try {
    const moved = await app.tx((tx) => moveIn(tx, kind, first.to, group));
    const ages = moved.map(({ attempt }) => attempt.age);
    observeAttempts(kind.name, first.to === 'sent' ? 'retracted' : first.to, ages);
    return moved;
  } catch (err) {
    if (group.length === 1) {
      app.log.error({ err, kind: kind.name, subject: first.attempt.subject, to: first.to }, 'the books of a transaction could not be kept');
      return [];
    }
    const moved: Verdict[] = [];
    for (const verdict of group) moved.push(...(await moveTogether(app, kinds, [verdict])));
    return moved;
  }
}

async function moveIn(tx: Tx, kind: TransactionType, to: Verdict['to'], group: readonly Verdict[]): Promise<Verdict[]> {
  const over = group.filter((verdict) => isOver(kind, verdict));
  const again = group.filter((verdict) => !over.includes(verdict));
  const moved = [...(await cas(tx, over, to, stateAfter(to, true))), ...(await cas(tx, again, to, stateAfter(to, false)))];
  const subjects = moved.map(({ attempt }) => attempt.subject);
  const landings = moved.map(({ attempt, slot }) => ({ subject: attempt.subject, signature: attempt.signature, slot }));
  switch (to) {
    case 'confirmed':
      if (moved.length > 0) await kind.confirmed?.(tx, landings);
      break;
    case 'sent':
      if (moved.length > 0) await kind.retracted?.(tx, subjects);
      break;
    case 'finalized':
      if (moved.length > 0) await kind.finalized(tx, landings);
      break;
    default:
      await fell(tx, kind, moved);
  }
  return moved;
}

/** What landed as an error, or never will: what it held is free again, and it is composed anew or over. */
async function fell(tx: Tx, kind: TransactionType, moved: readonly Verdict[]): Promise<void> {
  for (const { attempt, to } of moved) {
    // Its fee is gone; what it was to move is not. One lamport more or less does not break a circuit.
    const spends = spendsOf(attempt).filter(({ asset }) => to === 'dead' || asset !== 'sol');
    await release(tx, attempt.spend_day, spends);
  }
  const failures = moved
    .filter((verdict) => isOver(kind, verdict))
    .map(({ attempt, error }) => ({ subject: attempt.subject, signature: attempt.signature, error: error ?? unknownError }));
  if (failures.length > 0) await kind.failed(tx, failures);
  for (const verdict of moved) if (!isOver(kind, verdict)) tx.enqueue(signTransaction, { id: verdict.attempt.id });
}

const unknownError: ChainError = { name: 'Unknown', message: 'the chain refused it', instruction: null, code: null };

/** Whether a transaction ends with this attempt's failure. */
const isOver = (kind: TransactionType, { attempt, to }: Verdict) =>
  (to === 'failed' || to === 'dead') && (kind.afterFailure === 'over' || (to === 'failed' && attempt.refusals + 1 >= MOST_REFUSALS));

function stateAfter(to: Verdict['to'], over: boolean): string {
  if (to === 'sent') return 'live';
  if (to === 'failed' || to === 'dead') return over ? 'failed' : 'queued';
  return to;
}

/** Compare-and-set: whoever comes second moves nothing, and keeps no books. */
async function cas(tx: Tx, verdicts: readonly Verdict[], to: Verdict['to'], state: string): Promise<Verdict[]> {
  if (verdicts.length === 0) return [];
  const rows = await tx.query(moveAttempts, [
    verdicts.map(({ attempt }) => attempt.id),
    verdicts.map(({ attempt }) => attempt.n),
    verdicts.map(({ slot }) => slot),
    verdicts.map(({ error }) => (error ? storedError(error) : null)),
    to,
    state,
  ]);
  const ids = new Set(rows.map(({ id }) => id));
  return verdicts.filter(({ attempt }) => ids.has(attempt.id));
}
