import { planPayouts } from '#jobs/payouts.ts';
import { type App, perApp } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { pause, resume } from '#platform/solana/submission/index.ts';
import { alert } from '../alerts.ts';
import { PAYOUTS_SCOPE } from '../batches/transaction-type.ts';
import { type LaneReconciliation, reconcileLanes } from '../lanes/reconcile.ts';
import {
  type DatabaseIdentity,
  lockReconciliation,
  type ReconciliationState,
  selectIdentity,
  selectReconciliation,
  updateReconciliation,
} from './rows.ts';

const PERMISSION_DENIED = '42501';

/** Returns the identity of the database. Returns null when the PostgreSQL role may not read it. */
export async function readIdentity(app: App): Promise<DatabaseIdentity | null> {
  try {
    return (await app.db.query(selectIdentity))[0] ?? null;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === PERMISSION_DENIED)) throw error;
    const warning = app.state(identityWarning);
    if (!warning.logged)
      app.log.warn(
        'the PostgreSQL role may not read the identity of the database, so a failover is detected only by comparing the nonces of lanes with the chain',
      );
    warning.logged = true;
    return null;
  }
}

/** Whether this process has logged the warning that the identity of the database cannot be read. */
const identityWarning = perApp(() => ({ logged: false }));

const isSame = (state: ReconciliationState, identity: DatabaseIdentity | null): boolean =>
  identity === null || state.system === null || (state.system === identity.system && state.timeline === identity.timeline);

const DATABASE_CHANGED = 'the database was restored or failed over; payouts are paused until all transactions on the chain are matched with payments';

/**
 * Compares the lanes in the database with the chain, and the current identity of the database with the identity that an earlier run stored. Pauses
 * payouts when there is a difference. Resumes payouts when there is no difference and no operator has paused them. Does not read histories; the planner
 * does this.
 */
export async function reconcile(app: App): Promise<LaneReconciliation> {
  const identity = await readIdentity(app);
  const before = (await app.db.query(selectReconciliation))[0];
  if (!before) throw new Error('the table payout_watch is empty');
  const same = isSame(before, identity);
  // Pauses payouts before the chain is read, so that no transaction is signed while the RPC node answers slowly.
  if (!same && before.mismatchReason === null) await app.tx((tx) => storeMismatch(tx, DATABASE_CHANGED));
  const lanes = await reconcileLanes(app, 'all', { readsHistory: false });
  await app.tx((tx) => storeResult(app, tx, identity, lanes));
  return lanes;
}

async function storeResult(app: App, tx: Tx, identity: DatabaseIdentity | null, { clear, problems }: LaneReconciliation): Promise<void> {
  const now = (await tx.query(lockReconciliation))[0];
  if (!now) return;
  const same = isSame(now, identity);
  const reason = problems.length > 0 ? problems.slice(0, 3).join('; ') : clear ? null : same ? now.mismatchReason : DATABASE_CHANGED;
  if (reason !== null) alert(app, 'payouts', reason);
  if (now.mismatchReason !== null && reason === null)
    app.log.warn(
      { reason: now.mismatchReason },
      'all transactions on the chain are matched with the database; payouts resume unless an operator paused them',
    );
  // Stores the new identity of the database only when the database and the chain agree. If the process crashes before, the next run still finds that
  // the identity has changed. Deletes an identity that the role may no longer read, because `selectFailover` would otherwise stop payouts for ever.
  const known = reason === null ? (identity ?? { system: null, timeline: null }) : { system: now.system, timeline: now.timeline };
  await run(tx, updateReconciliation(known.system, known.timeline, reason));
  await applyPause(tx, { ...now, mismatchReason: reason });
}

/** Stores the sentence that describes a difference between the database and the chain, and pauses payouts. */
async function storeMismatch(tx: Tx, reason: string): Promise<void> {
  const now = (await tx.query(lockReconciliation))[0];
  if (!now) return;
  await run(tx, updateReconciliation(now.system, now.timeline, reason));
  await applyPause(tx, { ...now, mismatchReason: reason });
}

/** Pauses payouts if there is a difference between the database and the chain, or if an operator has paused them. Otherwise resumes payouts. */
export async function applyPause(
  tx: Tx,
  { mismatchReason, manualReason }: Pick<ReconciliationState, 'mismatchReason' | 'manualReason'>,
): Promise<void> {
  const reasons = [mismatchReason, manualReason].filter((reason) => reason !== null);
  if (reasons.length > 0) return await pause(tx, PAYOUTS_SCOPE, reasons.join('; '));
  if (await resume(tx, PAYOUTS_SCOPE)) tx.enqueue(planPayouts, {});
}

/** Alerts operators about differences that were found on stale lanes, and pauses payouts. Does nothing when there are no differences. */
export async function reportProblems(app: App, { problems }: LaneReconciliation): Promise<void> {
  if (problems.length === 0) return;
  const reason = problems.slice(0, 3).join('; ');
  alert(app, 'payouts', reason);
  await app.tx((tx) => storeMismatch(tx, reason));
}
