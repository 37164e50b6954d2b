import { sql } from 'kysely';
import { sweepClips as sweepJob } from '#jobs/maintenance.ts';
import { run } from '#platform/db/query-builder.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { build } from './rows.ts';

const remove = (reason: string | null) =>
  build
    .updateTable('clips')
    .set({ state: 'removing', title: null, sweep_at: sql`app_now()`, removed_at: sql`app_now()`, removed_reason: reason })
    .where('state', '=', 'ready');

/**
 * Removes a clip. The clip is invisible after the commit; a job deletes its file later.
 * @param reason why, for the wallet of the clip
 * @returns false when there is no clip with this id
 */
export async function removeClip(tx: Tx, id: string, reason: string | null): Promise<boolean> {
  const removed = await run(tx, remove(reason).where('id', '=', id).returning('id'));
  if (removed.length > 0) tx.enqueue(sweepJob, {});
  return removed.length > 0;
}

/**
 * Removes up to `limit` clips of a wallet that are not newer than `until`.
 * @returns the number of removed clips
 */
export async function removeClipsOf(tx: Tx, wallet: string, until: string, limit: number): Promise<number> {
  const old = build.selectFrom('clips').select('id').where('wallet', '=', wallet).where('state', '=', 'ready').where('created_at', '<=', until);
  const removed = await run(tx, remove('the wallet deleted its account').where('id', 'in', old.limit(limit)).returning('id'));
  if (removed.length > 0) tx.enqueue(sweepJob, {});
  return removed.length;
}

/** Returns whether a clip was removed. */
export async function isRemovedClip(tx: Tx, id: string): Promise<boolean> {
  const removed = build.selectFrom('clips').select('id').where('id', '=', id).where('state', 'in', ['removing', 'removed']);
  return (await run(tx, removed)).length > 0;
}
