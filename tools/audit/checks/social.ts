import { AT, type Audit, type Check, Found, recordCheck } from '../check.ts';

/** Clips whose files are looked at: the newest, and as many others each day. */
const selectClips = (sample: number) => `
  (select id::text, bytes from clips where state = 'ready' order by created_at desc limit ${sample})
  union (select id::text, bytes from clips where state = 'ready' order by md5(id::text || app_day()) limit ${sample})`;

/** Whether the storage has a clip, whole. */
async function isStored({ storage }: Audit, { id, bytes }: { id: string; bytes: number }): Promise<unknown> {
  try {
    (await storage.open(id, { start: bytes - 1, end: bytes - 1 })).destroy();
    return null;
  } catch (error) {
    return error;
  }
}

const clipMedia: Check = {
  name: 'clip-media',
  invariant: 'a clip that is shown has its file',
  live: true,
  async run(audit) {
    const found = new Found();
    const sample = audit.scope.all ? 1_000_000_000 : audit.scope.sample / 10;
    const clips = await audit.db.query<{ id: string; bytes: number }>({ text: selectClips(sample) });
    let failure: unknown = null;
    for (const clip of clips) {
      const error = await isStored(audit, clip);
      if (error === null) continue;
      failure = error;
      // It may have been removed a moment ago.
      const still = await audit.db.query({ text: `select 1 from clips where id = $1 and state = 'ready'` }, [clip.id]);
      if (still.length > 0) found.add(`clip ${clip.id}: its file cannot be read to the end`);
    }
    // Where there is none at all it is the storage that is not there, or another one.
    if (found.total > 0 && found.total === clips.length) throw failure;
    return found;
  },
};

export const socialChecks = [
  recordCheck(
    'kept-engagements',
    'nothing is kept for an account that is linked',
    `select format('%s %s of %s %s, which is linked to %s', k.kind, k.source_id, platform, account_id, l.wallet) as what
     from kept_engagements k join linked_accounts l using (platform, account_id)`,
  ),
  recordCheck(
    'clip-sweeps',
    'what is to be looked at of a clip is looked at within an hour',
    `select format('clip %s is %s, and due since %s', id, state, sweep_at) as what from clips where sweep_at < ${AT} - interval '1 hour'`,
  ),
  recordCheck(
    'clip-counts',
    'the counters of clips are the clips that are listed',
    `select format('%s: %s clips are listed, and %s are counted', game_id, coalesce(c.n, 0), coalesce(k.n, 0)) as what
     from (select game_id, count(*) as n from clips where state = 'ready' and not hidden group by 1) c full join clip_counts k using (game_id)
     where coalesce(c.n, 0) <> coalesce(k.n, 0)`,
  ),
  clipMedia,
];
