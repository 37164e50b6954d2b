import { reconcilePayouts } from '#jobs/payouts.ts';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { applyPause } from './reconciliation.ts';
import { lockReconciliation, updateManualReason } from './rows.ts';

/** Pauses payouts until an operator resumes them. Transactions that were sent before are still followed until they are finalized or expired. */
export async function pausePayouts(app: App, by: string, reason: string): Promise<void> {
  await app.tx(async (tx) => {
    const state = (await tx.query(lockReconciliation))[0];
    if (!state) throw new Error('the table payout_watch is empty');
    await tx.query(updateManualReason, [reason, by]);
    await applyPause(tx, { ...state, manualReason: reason });
  });
}

const selectUnmatched = statement<{ signature: string }>(
  'select_unmatched_payout_findings',
  `select signature from payout_findings where verdict = 'unmatched' order by signature`,
);
const acknowledgeAll = statement(
  'acknowledge_payout_findings',
  `update payout_findings set verdict = 'acknowledged', decided_by = $1, changed_at = app_now() where verdict = 'unmatched'`,
);
const acceptLanes = statement<{ lane: number }>(
  'accept_payout_lanes',
  `update payout_lanes set accepted = true, stale = true where lane = any($1::smallint[]) returning lane::int`,
);

/**
 * Removes the pause that an operator set. If the next reconciliation finds a difference between the database and the chain, it pauses payouts again.
 * @param acknowledge signatures of all unmatched transactions; the full list proves that the operator has seen each of them
 * @param lanes numbers of the lanes that continue with the present nonce of their account
 * @throws 409 when `acknowledge` is not the full list of unmatched transactions; 400 when a lane does not exist
 */
export async function resumePayouts(app: App, by: string, acknowledge: readonly string[], lanes: readonly number[]): Promise<void> {
  await app.tx(async (tx) => {
    const state = (await tx.query(lockReconciliation))[0];
    if (!state) throw new Error('the table payout_watch is empty');
    const unmatched = (await tx.query(selectUnmatched)).map(({ signature }) => signature);
    if (unmatched.join() !== [...new Set(acknowledge)].sort().join()) {
      throw fail(409, `acknowledge must list all unmatched transactions: ${unmatched.join(', ') || 'none'}`);
    }
    await tx.query(acknowledgeAll, [by]);
    const accepted = await tx.query(acceptLanes, [lanes]);
    if (accepted.length < new Set(lanes).size) throw fail(400, 'acceptLanes must contain existing lanes only');
    await tx.query(updateManualReason, [null, by]);
    await applyPause(tx, { ...state, manualReason: null });
    tx.enqueue(reconcilePayouts, {});
  });
}
