import { sql } from 'kysely';
import { isoInstant, run } from '#platform/db/query-builder.ts';
import type { Queryable } from '#platform/db/sql.ts';
import { build } from '../rows.ts';
import type { AutoStart, AutoStatus } from './schemas.ts';

const STATUS = [
  sql<boolean>`next_at is not null`.as('running'),
  'interval_sec as intervalSec',
  'template',
  isoInstant<string | null>('next_at').as('nextAt'),
  'last_round as lastRound',
  isoInstant<string | null>('last_started_at').as('lastStartedAt'),
  'last_error as lastError',
  'started_by as startedBy',
] as const;

/** Status before the first start, when the table has no row. */
const NEVER_STARTED: AutoStatus = {
  ...{ running: false, intervalSec: null, template: null, nextAt: null },
  ...{ lastRound: null, lastStartedAt: null, lastError: null, startedBy: null },
};

/** Reads the status of the schedule. */
export async function scheduleStatus(db: Queryable): Promise<AutoStatus> {
  return (await run(db, build.selectFrom('round_schedule').select(STATUS)))[0] ?? NEVER_STARTED;
}

// If the schedule runs already and `startAt` is missing, the next start time stays, or becomes earlier if the new interval is shorter. So the change
// of a running schedule creates no additional round.
const nextAt = sql<string>`case when round_schedule.next_at is null then app_now()
  else least(round_schedule.next_at, app_now() + make_interval(secs => excluded.interval_sec)) end`;

/** Starts the schedule, or changes the schedule that is running. */
export async function startSchedule(db: Queryable, { intervalSec, template, startAt }: AutoStart, by: string): Promise<AutoStatus> {
  const terms = { interval_sec: intervalSec, template, started_by: by };
  const started = build
    .insertInto('round_schedule')
    .values({ ...terms, next_at: startAt ?? sql`app_now()` })
    .onConflict((conflict) =>
      conflict.column('singleton').doUpdateSet({ ...terms, look_at: sql`app_now()`, last_error: null, next_at: startAt ?? nextAt }),
    );
  return (await run(db, started.returning(STATUS)))[0] ?? NEVER_STARTED;
}

/** Stops the schedule. Started rounds continue. */
export async function stopSchedule(db: Queryable): Promise<AutoStatus> {
  return (await run(db, build.updateTable('round_schedule').set({ next_at: null }).returning(STATUS)))[0] ?? NEVER_STARTED;
}
