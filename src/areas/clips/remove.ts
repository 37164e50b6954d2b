import { sql } from 'kysely';
import { sweepClips as sweepJob } from '#jobs/maintenance.ts';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { build } from './rows.ts';

/**
 * Removes a clip. The clip is invisible after the commit; a job deletes its file later.
 * @throws 404 when the clip does not exist
 */
export async function removeClip(app: App, id: string): Promise<void> {
  await app.tx(async (tx) => {
    const removal = build.updateTable('clips').set({ state: 'removing', title: null, sweep_at: sql`app_now()` });
    if ((await run(tx, removal.where('id', '=', id).where('state', '=', 'ready').returning('id'))).length === 0) throw fail(404, 'no such clip');
    tx.enqueue(sweepJob, {});
  });
}
