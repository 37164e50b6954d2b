import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { ChatRoundTerms } from '../schemas.ts';
import type { AutoStart, AutoStatus } from './schemas.ts';

const STATUS = `next_at is not null as running, interval_sec as "intervalSec", template, ${instant('next_at')} as "nextAt", last_round::text as "lastRound",
  ${instant('last_started_at')} as "lastStartedAt", last_error as "lastError", started_by as "startedBy"`;

/** The row of the schedule. Before the first start there is no row. */
type ScheduleRow = AutoStatus & { intervalSec: number; template: ChatRoundTerms; startedBy: string };

/** Status before the first start. */
const NEVER_STARTED: AutoStatus = {
  ...{ running: false, intervalSec: null, template: null, nextAt: null },
  ...{ lastRound: null, lastStartedAt: null, lastError: null, startedBy: null },
};

const read = statement<ScheduleRow>('read_schedule', `select ${STATUS} from round_schedule`);

/** Reads the status of the schedule. */
export async function scheduleStatus(db: Queryable): Promise<AutoStatus> {
  return (await db.query(read))[0] ?? NEVER_STARTED;
}

// If the schedule runs already and `startAt` is missing, the next start time stays, or becomes earlier if the new interval is shorter. So the change
// of a running schedule creates no additional round.
const start = statement<ScheduleRow>(
  'start_schedule',
  `insert into round_schedule as s (interval_sec, template, started_by, next_at) values ($1, $2, $3, coalesce($4::timestamptz, app_now()))
   on conflict (singleton) do update set interval_sec = excluded.interval_sec, template = excluded.template, started_by = excluded.started_by, look_at = app_now(), last_error = null,
     next_at = coalesce($4::timestamptz, case when s.next_at is null then app_now() else least(s.next_at, app_now() + make_interval(secs => excluded.interval_sec)) end)
   returning ${STATUS}`,
);

/** Starts the schedule, or changes the schedule that is running. */
export async function startSchedule(db: Queryable, { intervalSec, template, startAt }: AutoStart, by: string): Promise<AutoStatus> {
  return (await db.query(start, [intervalSec, JSON.stringify(template), by, startAt ?? null]))[0] ?? NEVER_STARTED;
}

const stop = statement<ScheduleRow>('stop_schedule', `update round_schedule set next_at = null returning ${STATUS}`);

/** Stops the schedule. Started rounds continue. */
export async function stopSchedule(db: Queryable): Promise<AutoStatus> {
  return (await db.query(stop))[0] ?? NEVER_STARTED;
}
