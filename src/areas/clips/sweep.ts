import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import { build } from './rows.ts';

/** Maximum clips that one run handles, and maximum concurrent removals of files. */
const MAX_SWEPT = 100;
const MAX_CONCURRENT_REMOVALS = 8;

/**
 * Leases, for 5 minutes, the rows whose sweep is due, so that a file that cannot be removed is retried after other files. Changes an unfinished
 * upload to `abandoned`, so that no process can complete the upload any more.
 */
const leaseDue = statement<{ id: string }>(
  'lease_due_clips',
  `update clips c set sweep_at = app_now() + interval '5 minutes', state = case state when 'uploading' then 'abandoned' else state end
   from (select id from clips where sweep_at <= (select app_now()) order by sweep_at limit ${MAX_SWEPT} for update skip locked) due
   where c.id = due.id returning c.id`,
);

/**
 * Deletes the files and the rows of abandoned uploads. For removed clips, deletes the files and keeps the rows. Handles at most `MAX_SWEPT` clips per
 * call. Idempotent; a crash at any point is safe.
 */
export async function sweepClips(app: App): Promise<void> {
  const due = await app.tx((tx) => tx.query(leaseDue));
  for (let i = 0; i < due.length; i += MAX_CONCURRENT_REMOVALS) {
    const removed = await Promise.all(due.slice(i, i + MAX_CONCURRENT_REMOVALS).map(({ id }) => removeFile(app, id)));
    const ids = removed.filter((id) => id !== null);
    if (ids.length === 0) continue;
    const deletion = build.deleteFrom('clips').where('id', 'in', ids).where('state', '=', 'abandoned');
    const change = build.updateTable('clips').set({ state: 'removed', sweep_at: null }).where('id', 'in', ids).where('state', '=', 'removing');
    await app.tx((tx) => Promise.all([run(tx, deletion), run(tx, change)]));
  }
}

/**
 * Removes the file of a clip.
 * @returns the clip's id; null when the storage failed, so that a later run retries
 */
async function removeFile(app: App, id: string): Promise<string | null> {
  try {
    await app.storage.remove(id);
    return id;
  } catch (err) {
    app.log.warn({ err, clip: id }, 'the file of a clip could not be removed; the sweep retries');
    return null;
  }
}
