import { sql } from 'kysely';
import { reconcilePayouts } from '#jobs/payouts.ts';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { build } from '../build.ts';
import { applyPause } from './reconciliation.ts';
import { lockReconciliation, updateManualReason } from './rows.ts';

/** Pauses payouts until an operator resumes them. Transactions that were sent before are still followed until they are finalized or expired. */
export async function pausePayouts(app: App, by: string, reason: string): Promise<void> {
  await app.tx(async (tx) => {
    const state = (await tx.query(lockReconciliation))[0];
    if (!state) throw new Error('the table payout_watch is empty');
    await run(tx, updateManualReason(reason, by));
    await applyPause(tx, { ...state, manualReason: reason });
  });
}

const selectUnmatched = build.selectFrom('payout_findings').select('signature').where('verdict', '=', 'unmatched').orderBy('signature');
const acknowledgeAll = (by: string) =>
  build
    .updateTable('payout_findings')
    .set({ verdict: 'acknowledged', decided_by: by, changed_at: sql`app_now()` })
    .where('verdict', '=', 'unmatched');
const acceptLanes = (lanes: readonly number[]) =>
  build.updateTable('payout_lanes').set({ accepted: true, stale: true }).where('lane', '=', sql<number>`any(${lanes}::smallint[])`).returning('lane');

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
    const unmatched = (await run(tx, selectUnmatched)).map(({ signature }) => signature);
    if (unmatched.join() !== [...new Set(acknowledge)].sort().join()) {
      throw fail(409, `acknowledge must list all unmatched transactions: ${unmatched.join(', ') || 'none'}`);
    }
    await run(tx, acknowledgeAll(by));
    const accepted = await run(tx, acceptLanes(lanes));
    if (accepted.length < new Set(lanes).size) throw fail(400, 'acceptLanes must contain existing lanes only');
    await run(tx, updateManualReason(null, by));
    await applyPause(tx, { ...state, manualReason: null });
    tx.enqueue(reconcilePayouts, {});
  });
}
