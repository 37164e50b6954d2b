import { reconcilePayouts } from '#jobs/payouts.ts';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { apply } from './reconciliation.ts';
import { holdPayouts, lockWatch } from './rows.ts';

/** Stops payouts until they are released. What is on its way is followed to its end. */
export async function hold(app: App, by: string, reason: string): Promise<void> {
  await app.tx(async (tx) => {
    const watch = (await tx.query(lockWatch))[0];
    if (!watch) throw new Error('payout_watch is empty');
    await tx.query(holdPayouts, [reason, by]);
    await apply(tx, { ...watch, held: reason });
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
 * Lets payouts go on as far as a person decides it. What a look at the chain finds doubtful after that stops them again.
 * @param acknowledge transactions that nobody could match: all of them, so that none is waved through unseen
 * @param lanes lanes whose nonce account is taken as it stands
 * @throws 409 where `acknowledge` is not what is unmatched now; 400 for a lane that there is not
 */
export async function release(app: App, by: string, acknowledge: readonly string[], lanes: readonly number[]): Promise<void> {
  await app.tx(async (tx) => {
    const watch = (await tx.query(lockWatch))[0];
    if (!watch) throw new Error('payout_watch is empty');
    const unmatched = (await tx.query(selectUnmatched)).map(({ signature }) => signature);
    if (unmatched.join() !== [...new Set(acknowledge)].sort().join()) {
      throw fail(409, `acknowledge must be the transactions that are unmatched now: ${unmatched.join(', ') || 'none'}`);
    }
    await tx.query(acknowledgeAll, [by]);
    const accepted = await tx.query(acceptLanes, [lanes]);
    if (accepted.length < new Set(lanes).size) throw fail(400, 'acceptLanes must be lanes that there are');
    await tx.query(holdPayouts, [null, by]);
    await apply(tx, { ...watch, held: null });
    tx.enqueue(reconcilePayouts, {});
  });
}
