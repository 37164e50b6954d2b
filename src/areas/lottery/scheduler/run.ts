import { newId } from '#lib/ids.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { asRefusal } from '#platform/http/errors.ts';
import { startChatRound } from '../activate.ts';
import { createChatRound } from '../create.ts';
import { ChatRoundTerms } from '../schemas.ts';
import { titleOf } from './title.ts';

/** Who creates the rounds of the schedule. */
const SCHEDULER = 'scheduler';

/** For so long nobody else tries while somebody is at it, and after a refusal, or the interval where that is less; seconds. */
const BUSY_SEC = 5;
const RETRY_SEC = 30;

interface Due {
  template: unknown;
  /** Of the round that is due, in the schedule. */
  n: number;
  pending: string | null;
  /** Whether the pending round can still be described anew. */
  isPending: boolean;
  /** UTC, YYYY-MM-DD. */
  day: string;
}
const DUE = `s.next_at <= app_now() and s.look_at <= app_now()
  and not exists (select from rounds a where a.kind = 'chat' and a.state = 'active' and a.id is distinct from s.pending)`;
const isDue = statement<{ due: boolean }>('is_schedule_due', `select true as due from round_schedule s where ${DUE}`);
const take = statement<Due>(
  'take_schedule',
  `select template, case when pending is null then rounds + 1 else rounds end as n, pending::text,
     coalesce((select r.state = 'pending' from rounds r where r.id = s.pending), false) as "isPending", to_char(app_now() at time zone 'UTC', 'YYYY-MM-DD') as day
   from round_schedule s where ${DUE} for update of s skip locked`,
);
const keep = statement(
  'keep_scheduled_round',
  `update round_schedule set pending = $1, rounds = $2, look_at = app_now() + make_interval(secs => ${BUSY_SEC})`,
);
const describe = statement(
  'describe_scheduled_round',
  `update rounds set title = $2, picks = $3, range = $4, prizes = $5, duration_sec = $6, max_entries_per_wallet = $7 where id = $1 and state = 'pending'`,
);

// A round that has begun: the next time is counted from then, and what was missed before is made up for once. Where it was changed to a later
// one, it stays.
const advance = statement(
  'advance_schedule',
  `update round_schedule s set pending = null, last_round = r.id, last_started_at = r.opens_at, last_error = null, look_at = app_now(),
     next_at = s.next_at + s.interval_sec * interval '1 second' * greatest(0, floor(extract(epoch from r.opens_at - s.next_at) / s.interval_sec) + 1)
   from rounds r where s.pending = $1 and r.id = s.pending and r.state <> 'pending'`,
);
// Where it still is the one that is waited for.
const refuse = statement<{ refused: boolean }>(
  'refuse_scheduled_round',
  `update round_schedule set last_error = $2, look_at = app_now() + make_interval(secs => least(${RETRY_SEC}, interval_sec))
   where pending is not distinct from $1::uuid returning true as refused`,
);

/** Starts the next round of the schedule, where it is due. Whoever comes after a kill goes on with the round that was made. */
export async function runScheduler(app: App): Promise<void> {
  if ((await app.db.query(isDue)).length === 0) return;
  let round: string | null = null;
  try {
    round = await app.tx(takeRound);
    if (round === null) return;
    await startChatRound(app, round);
    await app.tx((tx) => tx.query(advance, [round]));
  } catch (error) {
    await app.tx(async (tx) => {
      // Somebody else may have begun it: an administrator, or a worker that was here at the same time.
      await tx.query(advance, [round]);
      const refused = await tx.query(refuse, [round, asRefusal(error).message]);
      if (refused.length > 0) app.log.warn({ err: error, round }, 'the round that is due could not begin');
    });
  }
}

/** The round that is due: that of an earlier try, described by the present template, or a new one. null where there is nothing to begin. */
async function takeRound(tx: Tx): Promise<string | null> {
  const due = (await tx.query(take))[0];
  if (!due) return null;
  // It has begun, and whoever began it did not come to note it.
  if (due.pending !== null && !due.isPending) {
    await tx.query(advance, [due.pending]);
    return null;
  }
  const { title, ...rest } = ChatRoundTerms.parse(due.template);
  const terms = { ...rest, title: titleOf(title, due.n, due.day) };
  const id = due.pending ?? newId();
  if (due.pending === null) await createChatRound(tx, terms, SCHEDULER, id);
  else await describeRound(tx, id, terms);
  await tx.query(keep, [id, due.n]);
  return id;
}

async function describeRound(tx: Tx, id: string, terms: ChatRoundTerms): Promise<void> {
  const { title, picks, range, prizes, durationSec, maxEntriesPerWallet } = terms;
  await tx.query(describe, [id, title, picks, range, JSON.stringify(prizes), durationSec, maxEntriesPerWallet]);
}
