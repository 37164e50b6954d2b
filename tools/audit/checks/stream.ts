import { lastPublication } from '#platform/events/outbox.ts';
import { comparePositions, decodeEntry, type Entry, eventStreamKey, follows, readTail } from '#platform/events/redis-stream.ts';
import { AT, type Audit, type Check, recordCheck } from '../check.ts';
import { Suspects } from '../suspects.ts';

/** Entries that are read at once: half a megabyte or so. */
const PAGE = 500;

/** How the feed stands to the record; null: as it should. @param due the last number that was given a while ago */
async function standing({ redis, config, db }: Audit, due: number): Promise<string | null> {
  const tail = await readTail(redis, eventStreamKey(config));
  const last = await lastPublication(db);
  if (tail === null) return 'the feed is not there';
  if (tail.publication > last) return `the feed ends with ${tail.id}, and the last number given is ${last}`;
  return tail.publication < due ? `the feed ends with ${tail.id}, and number ${due} was given` : null;
}

/** The first gap among the entries of the feed; null: there is none. */
async function gap({ redis, config }: Audit): Promise<string | null> {
  let before: Entry | null = null;
  for (let from = '-'; ; from = `(${before?.id}`) {
    const page = (await redis.xrange(eventStreamKey(config), from, '+', 'COUNT', PAGE)).map(decodeEntry);
    for (const entry of page) {
      const isNext = before === null || (entry.epoch === before.epoch && follows(before, entry) && comparePositions(before, entry) < 0);
      if (!isNext) return `the feed goes on with ${entry.id} of epoch ${entry.epoch} after ${before?.id} of ${before?.epoch}`;
      before = entry;
    }
    if (page.length < PAGE) return null;
  }
}

const feed: Check = {
  name: 'feed',
  invariant: 'the feed of events holds every number once, up to the last that was given',
  live: true,
  async run(audit) {
    const due = await lastPublication(audit.db);
    const suspects = new Suspects<(audit: Audit) => Promise<string | null>>();
    suspects.add((one) => standing(one, due));
    // It may be trimmed, or begin anew, while it is read.
    suspects.add(gap);
    return await suspects.confirm(audit, async (looks) => {
      const found = new Map<(typeof looks)[number], string>();
      for (const look of looks) {
        const fault = await look(audit);
        if (fault !== null) found.set(look, fault);
      }
      return found;
    });
  },
};

// What is older than an hour is removed, by its time, not by its number.
const YOUNG = `${AT} - interval '55 minutes'`;

export const streamChecks = [
  recordCheck(
    'outbox',
    'events are numbered without gaps up to the last number given, within a minute',
    `with numbered as (select publication, at, lead(publication) over (order by publication) as next, lead(at) over (order by publication) as next_at from outbox where publication is not null)
     select format('after event %s comes %s', publication, next) as what from numbered where next > publication + 1 and at >= ${YOUNG} and next_at >= ${YOUNG}
     union all select format('the last event has number %s, and the last number given is %s', n.publication, c.publication)
     from outbox_counter c, (select max(publication) as publication, max(at) as at from numbered) n
     where n.publication > c.publication or (n.publication < c.publication and n.at >= ${YOUNG})
     union all select format('%s events wait for a number since %s', count(*), min(at)) from outbox where publication is null and at < ${AT} - interval '1 minute' having count(*) > 0`,
  ),
  feed,
];
