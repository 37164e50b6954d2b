import { AT, type AuditContext, type Check, DifferenceList, databaseCheck } from '../check.ts';

/**
 * Returns SQL that selects the clips whose files are checked: the newest `sample` clips, and `sample` pseudo-random clips, different ones each day.
 */
const selectClips = (sample: number) => `
  (select id::text, bytes from clips where state = 'ready' order by created_at desc limit ${sample})
  union (select id::text, bytes from clips where state = 'ready' order by md5(id::text || app_day()) limit ${sample})`;

/** Reads the last byte of a clip's file from the storage. Returns the error, or null when the byte was read. */
async function readError({ storage }: AuditContext, { id, bytes }: { id: string; bytes: number }): Promise<unknown> {
  try {
    (await storage.open(id, { start: bytes - 1, end: bytes - 1 })).destroy();
    return null;
  } catch (error) {
    return error;
  }
}

const clipMedia: Check = {
  name: 'clip-media',
  invariant: 'the storage has the complete file of every clip',
  live: true,
  async run(audit) {
    const found = new DifferenceList();
    const sample = audit.scope.all ? 1_000_000_000 : audit.scope.sample / 10;
    const clips = await audit.db.query<{ id: string; bytes: number }>({ text: selectClips(sample) });
    let failure: unknown = null;
    for (const clip of clips) {
      const error = await readError(audit, clip);
      if (error === null) continue;
      failure = error;
      // Ignores a clip that was deleted after the first query.
      const still = await audit.db.query({ text: `select 1 from clips where id = $1 and state = 'ready'` }, [clip.id]);
      if (still.length > 0) found.add(`clip ${clip.id}: its file cannot be read to the end`);
    }
    // If every file is unreadable, the storage is unavailable or misconfigured, so the check fails.
    if (found.total > 0 && found.total === clips.length) throw failure;
    return found;
  },
};

export const socialChecks = [
  databaseCheck(
    'kept-engagements',
    'no engagement is pending for an account that is linked',
    `select format('%s %s of %s %s is pending, but the account is linked to %s', k.kind, k.source_id, platform, account_id, l.wallet) as what
     from kept_engagements k join linked_accounts l using (platform, account_id)`,
  ),
  databaseCheck(
    'clip-sweeps',
    'the files of abandoned and removed clips are deleted within an hour',
    `select format('clip %s is %s, and its sweep is due since %s', id, state, sweep_at) as what from clips where sweep_at < ${AT} - interval '1 hour'`,
  ),
  databaseCheck(
    'clip-counts',
    'the counters of clips equal the listed clips',
    `select format('%s: %s clips are listed, but the counter is %s', game_id, coalesce(c.n, 0), coalesce(k.n, 0)) as what
     from (select game_id, count(*) as n from clips where state = 'ready' and not hidden group by 1) c full join clip_counts k using (game_id)
     where coalesce(c.n, 0) <> coalesce(k.n, 0)`,
  ),
  clipMedia,
];
