import { lastPublication } from '#platform/events/outbox.ts';
import { comparePositions, decodeEntry, type Entry, eventStreamKey, follows, readTail } from '#platform/events/redis-stream.ts';
import { Candidates } from '../candidates.ts';
import { AT, type AuditContext, type Check, databaseCheck } from '../check.ts';

/** Maximum stream entries per read from Redis. So many entries have about half a megabyte in total. */
const PAGE = 500;

/**
 * Compares the end of the event stream in Redis with the database. Returns the difference as a sentence, or null when both match.
 * @param due the publication number that the stream must contain: the last number in the database before the comparison
 */
async function compareEnd({ redis, config, db }: AuditContext, due: number): Promise<string | null> {
  const tail = await readTail(redis, eventStreamKey(config));
  const last = await lastPublication(db);
  if (tail === null) return 'the event stream is missing';
  if (tail.publication > last) return `the event stream ends with ${tail.id}, but the last publication number is ${last}`;
  return tail.publication < due ? `the event stream ends with ${tail.id}, but publication number ${due} exists` : null;
}

/** Returns the first gap in the event stream (an entry that does not follow the entry before it) as a sentence, or null when there is no gap. */
async function findGap({ redis, config }: AuditContext): Promise<string | null> {
  let before: Entry | null = null;
  for (let from = '-'; ; from = `(${before?.id}`) {
    const page = (await redis.xrange(eventStreamKey(config), from, '+', 'COUNT', PAGE)).map(decodeEntry);
    for (const entry of page) {
      const isNext = before === null || (entry.epoch === before.epoch && follows(before, entry) && comparePositions(before, entry) < 0);
      if (!isNext) return `the event stream continues with ${entry.id} of epoch ${entry.epoch} after ${before?.id} of ${before?.epoch}`;
      before = entry;
    }
    if (page.length < PAGE) return null;
  }
}

const streamCheck: Check = {
  name: 'feed',
  invariant: 'the event stream contains every publication number once, up to the last one',
  live: true,
  async run(audit) {
    const due = await lastPublication(audit.db);
    const candidates = new Candidates<(audit: AuditContext) => Promise<string | null>>();
    candidates.add((one) => compareEnd(one, due));
    // Searches for gaps several times and reports a gap only if every search finds one, because the stream may be trimmed or restarted while it is
    // read.
    candidates.add(findGap);
    return await candidates.confirm(audit, async (comparisons) => {
      const found = new Map<(typeof comparisons)[number], string>();
      for (const compare of comparisons) {
        const fault = await compare(audit);
        if (fault !== null) found.set(compare, fault);
      }
      return found;
    });
  },
};

// Rows of `outbox` are purged one hour after their time `at`, so the check searches for gaps only between rows of the last 55 minutes.
const YOUNG = `${AT} - interval '55 minutes'`;

export const streamChecks = [
  databaseCheck(
    'outbox',
    'events get publication numbers within a minute, without gaps up to the last number',
    `with numbered as (select publication, at, lead(publication) over (order by publication) as next, lead(at) over (order by publication) as next_at from outbox where publication is not null)
     select format('event %s is followed by event %s', publication, next) as what from numbered where next > publication + 1 and at >= ${YOUNG} and next_at >= ${YOUNG}
     union all select format('the last event has number %s, but the counter is at %s', n.publication, c.publication)
     from outbox_counter c, (select max(publication) as publication, max(at) as at from numbered) n
     where n.publication > c.publication or (n.publication < c.publication and n.at >= ${YOUNG})
     union all select format('%s events have been waiting for a number since %s', count(*), min(at)) from outbox where publication is null and at < ${AT} - interval '1 minute' having count(*) > 0`,
  ),
  streamCheck,
];
