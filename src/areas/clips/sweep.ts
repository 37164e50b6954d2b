import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';

/** Clips of one run, and removals at once. */
const MOST = 100;
const AT_ONCE = 8;

/** Takes rows whose time has come, each for a while: one that the storage refuses comes again after the others. Nobody can complete it any more. */
const claim = statement<{ id: string }>(
  'claim_swept_clips',
  `update clips c set sweep_at = app_now() + interval '5 minutes', state = case state when 'uploading' then 'abandoned' else state end
   from (select id from clips where sweep_at <= app_now() order by sweep_at limit ${MOST} for update skip locked) due
   where c.id = due.id returning c.id`,
);
const forget = statement('forget_abandoned_clips', `delete from clips where id = any($1::uuid[]) and state = 'abandoned'`);
const settle = statement(
  'settle_removed_clips',
  `update clips set state = 'removed', sweep_at = null where id = any($1::uuid[]) and state = 'removing'`,
);

/**
 * Removes media that no clip names, by the rows that do: of uploads that nobody came back for, which leave nothing, and of removed clips,
 * whose rows stay. A bounded number at a time; harmless when run twice, or killed anywhere.
 */
export async function sweepClips(app: App): Promise<void> {
  const due = await app.tx((tx) => tx.query(claim));
  for (let i = 0; i < due.length; i += AT_ONCE) {
    const gone = await Promise.all(due.slice(i, i + AT_ONCE).map(({ id }) => removeFile(app, id)));
    const ids = gone.filter((id) => id !== null);
    await app.tx((tx) => Promise.all([tx.query(forget, [ids]), tx.query(settle, [ids])]));
  }
}

/** @returns the id; null where the storage did not do it, which is tried again */
async function removeFile(app: App, id: string): Promise<string | null> {
  try {
    await app.storage.remove(id);
    return id;
  } catch (err) {
    app.log.warn({ err, clip: id }, 'the file of a clip could not be removed');
    return null;
  }
}
