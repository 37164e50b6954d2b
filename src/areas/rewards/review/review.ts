import { sql } from 'kysely';
import { computeEpoch } from '#jobs/epochs.ts';
import { fail } from '#lib/errors.ts';
import { run } from '#platform/db/query-builder.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { build } from '../query-builder.ts';
import { endExclusions, insertExclusions, withoutPoints } from './exclusions.ts';
import { lockOpenEpoch } from './openness.ts';
import { submitReviewed } from './submit.ts';

/** Maximum wallets that an error names. */
const MAX_NAMED = 10;

/**
 * Records that the exclusions of an epoch changed, and enqueues the computation of its next allocation. The root is not signed until that allocation
 * is stored. Precondition: the row of the epoch is locked.
 */
export async function markChanged(tx: Tx, epoch: number): Promise<void> {
  const mark = build.updateTable('epochs').set({ exclusions_changed_at: sql`coalesce(exclusions_changed_at, app_now())` });
  await run(tx, mark.where('epoch', '=', epoch));
  tx.enqueue(computeEpoch, { epoch });
}

/**
 * Excludes wallets from an epoch, so that they get no leaf and their shares go to the other wallets. Idempotent: wallets that an operator excluded
 * before keep the earlier reason.
 * @throws 400 when a wallet has no points in the epoch; 404 and 409 as `lockOpenEpoch`
 */
export async function excludeWallets(tx: Tx, epoch: number, wallets: readonly string[], reason: string, by: string): Promise<void> {
  const next = await lockOpenEpoch(tx, epoch);
  const pointless = await withoutPoints(tx, epoch, wallets);
  if (pointless.length > 0) {
    const more = pointless.length > MAX_NAMED ? ` and ${pointless.length - MAX_NAMED} more` : '';
    throw fail(400, `wallets must have points in epoch ${epoch}, but these have none: ${pointless.slice(0, MAX_NAMED).join(', ')}${more}`);
  }
  if ((await insertExclusions(tx, { epoch, next, wallets, reason, by })) > 0) await markChanged(tx, epoch);
}

/**
 * Ends the exclusion of a wallet that an operator excluded.
 * @throws 404 when no operator excluded the wallet; 404 and 409 as `lockOpenEpoch`
 */
export async function readmitWallet(tx: Tx, epoch: number, wallet: string): Promise<void> {
  const next = await lockOpenEpoch(tx, epoch);
  const ended = await endExclusions(tx, { epoch, next, cause: 'operator', wallets: [wallet] });
  if (ended.length === 0) throw fail(404, `no operator excluded this wallet from epoch ${epoch}`);
  await markChanged(tx, epoch);
}

/**
 * Ends the review of an epoch now, so that its root can be signed. Idempotent.
 * @throws 404 and 409 as `lockOpenEpoch`
 */
export async function releaseEpoch(tx: Tx, epoch: number): Promise<void> {
  await lockOpenEpoch(tx, epoch);
  const release = build.updateTable('epochs').set({ review_ends_at: sql`app_now()` });
  await run(tx, release.where('epoch', '=', epoch).where('review_ends_at', '>', sql<string>`(select app_now())`));
  await submitReviewed(tx, [epoch]);
}
