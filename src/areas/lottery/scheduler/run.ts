import { sql } from 'kysely';
import { newId } from '#lib/ids.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { toHttpError } from '#platform/http/errors.ts';
import { startChatRound } from '../activate.ts';
import { createChatRound, termColumns } from '../create.ts';
import { build } from '../rows.ts';
import { ChatRoundTerms } from '../terms.ts';
import { titleOf } from './title.ts';

/** Value of `created_by` in scheduled rounds. */
const SCHEDULER = 'scheduler';

/** Duration of the lease that a worker holds while it starts the due round, seconds. */
const LEASE_SEC = 5;
/** Delay before a retry after a failed start, seconds. If the schedule's interval is shorter, the delay is the interval. */
const RETRY_SEC = 30;

interface DueRound {
  template: unknown;
  /** Number of the due round in the schedule: 1 for the first round. */
  n: number;
  /** Id of the round that an earlier attempt created; null when there is none. */
  pending: string | null;
  /** Whether the round with the id `pending` is still in state `pending`, so that its terms can be replaced. */
  isPending: boolean;
  /** The current UTC day, YYYY-MM-DD. */
  day: string;
}
const DUE = `s.next_at <= (select app_now()) and s.look_at <= (select app_now())
  and not exists (select from rounds a where a.kind = 'chat' and a.state = 'active' and a.id is distinct from s.pending)`;
/** SQL: the schedule, while its next round must be started. */
export const DUE_SCHEDULE = `select true as due from round_schedule s where ${DUE}`;
const isDue = statement<{ due: boolean }>('is_schedule_due', DUE_SCHEDULE);
const take = statement<DueRound>(
  'take_schedule',
  `select template, case when pending is null then rounds + 1 else rounds end as n, pending::text,
     coalesce((select r.state = 'pending' from rounds r where r.id = s.pending), false) as "isPending", to_char(app_now() at time zone 'UTC', 'YYYY-MM-DD') as day
   from round_schedule s where ${DUE} for update of s skip locked`,
);

// Updates the schedule after the start of a round. The next start time is the first time after this start that is a whole number of intervals after
// the old start time. So several missed start times cause only one round. If an administrator has set a start time later than this start, that time
// is kept.
const advance = statement(
  'advance_schedule',
  `update round_schedule s set pending = null, last_round = r.id, last_started_at = r.opens_at, last_error = null, look_at = app_now(),
     next_at = s.next_at + s.interval_sec * interval '1 second' * greatest(0, floor(extract(epoch from r.opens_at - s.next_at) / s.interval_sec) + 1)
   from rounds r where s.pending = $1 and r.id = s.pending and r.state <> 'pending'`,
);
/**
 * Builds the update that records a failed start and delays the retry. Updates and returns no row when the schedule's pending round is no longer
 * `round`.
 */
const refuse = (round: string | null, error: string) =>
  build
    .updateTable('round_schedule')
    .set({ last_error: error, look_at: sql`app_now() + make_interval(secs => least(${RETRY_SEC}, interval_sec))` })
    .where('pending', 'is not distinct from', round)
    .returning('rounds');

/** Starts the next round of the schedule when it is due. After a crash, the next worker continues with the round that was already created. */
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
      // An administrator or another worker may have started the round although this call failed. In this case `advance` updates the schedule, and
      // `refuse` then changes nothing.
      await tx.query(advance, [round]);
      const refused = await run(tx, refuse(round, toHttpError(error).message));
      if (refused.length > 0) app.log.warn({ err: error, round }, 'the due round of the schedule cannot start; the start is retried');
    });
  }
}

/**
 * Takes the lease of the due round and returns the round's id. Creates the round, or reuses the round of an earlier attempt and gives it the terms of
 * the current template.
 * @returns null when no round has to be started
 */
async function takeRound(tx: Tx): Promise<string | null> {
  const due = (await tx.query(take))[0];
  if (!due) return null;
  // The pending round was started, but the worker stopped before it updated the schedule. Makes only the missing update.
  if (due.pending !== null && !due.isPending) {
    await tx.query(advance, [due.pending]);
    return null;
  }
  const { title, ...rest } = ChatRoundTerms.parse(due.template);
  const terms = { ...rest, title: titleOf(title, due.n, due.day) };
  const id = due.pending ?? newId();
  if (due.pending === null) await createChatRound(tx, terms, SCHEDULER, id);
  else await run(tx, build.updateTable('rounds').set(termColumns(terms)).where('id', '=', id).where('state', '=', 'pending'));
  const leaseEnd = sql<string>`app_now() + make_interval(secs => ${LEASE_SEC})`;
  await run(tx, build.updateTable('round_schedule').set({ pending: id, rounds: due.n, look_at: leaseEnd }));
  return id;
}
