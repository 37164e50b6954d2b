import { planPayouts } from '#jobs/payouts.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { build } from '../build.ts';

const selectNonceUser = (account: string, nonce: string) =>
  build.selectFrom('payout_findings').select('signature').where('address', '=', account).where('nonce', '=', nonce).limit(1);
const markStale = (account: string) =>
  build.updateTable('payout_lanes').set({ stale: true }).where('address', '=', account).where('stale', '=', false);

/**
 * Returns the signature of the unknown transaction that used a nonce of a lane. If none was found, returns null and marks the lane as stale, so that
 * the planner reads the history of the lane.
 */
export async function readNonceUser(app: App, { account, nonce }: { readonly account: string; readonly nonce: string }): Promise<string | null> {
  const [user] = await run(app.db, selectNonceUser(account, nonce));
  if (user) return user.signature;
  await app.tx(async (tx) => {
    await run(tx, markStale(account));
    tx.enqueue(planPayouts, {});
  });
  return null;
}
