import { sweepClips as sweepJob } from '#jobs/maintenance.ts';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';

const remove = statement<{ id: string }>(
  'remove_clip',
  `update clips set state = 'removing', title = null, sweep_at = app_now() where id = $1 and state = 'ready' returning id`,
);

/**
 * Removes a clip. The clip is invisible after the commit; a job deletes its file later.
 * @throws 404 when the clip does not exist
 */
export async function removeClip(app: App, id: string): Promise<void> {
  await app.tx(async (tx) => {
    if ((await tx.query(remove, [id])).length === 0) throw fail(404, 'no such clip');
    tx.enqueue(sweepJob, {});
  });
}
