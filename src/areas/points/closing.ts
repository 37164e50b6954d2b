import { bucketOf, PERIODS, type Period } from '#lib/periods.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import { build } from './build.ts';
import { readFirstDay, storeFinals } from './finals.ts';
import { DAY_LOCK } from './ledger.ts';

/** Delay between the end of a period (midnight UTC) and its closing, seconds. */
const GRACE_SEC = 60;
/** MAX_CLOSED: maximum periods that one run closes. MAX_STORED: maximum periods whose final ranks one run stores. The next run continues. */
const MAX_CLOSED = 400;
const MAX_STORED = 20;

const selectDay = statement<{ day: number }>(
  'select_closable_day',
  `select floor((extract(epoch from app_now()) - ${GRACE_SEC}) / 86400)::int as day`,
);

const selectDue = statement<{ period: Period; bucket: number }>(
  'select_due_periods',
  `select p.period, b.bucket
   from unnest($1::text[], $2::int[], $3::int[]) as p(period, first, last), lateral generate_series(p.first, p.last) as b(bucket)
   where not exists (select 1 from closed_periods c where c.period = p.period and c.bucket = b.bucket)
   order by p.period, b.bucket limit ${MAX_CLOSED}`,
);

const lockTimeout = statement('close_lock_timeout', `set local lock_timeout = '1s'`);
const lockDays = statement('lock_days', `select pg_advisory_xact_lock(${DAY_LOCK})`);
const insertClosed = (periods: readonly { period: Period; bucket: number }[]) =>
  build
    .insertInto('closed_periods')
    .values(periods)
    .onConflict((conflict) => conflict.doNothing());

const unstored = build.selectFrom('closed_periods').select(['period', 'bucket']).where('finals_at', 'is', null);
const oldestUnstored = unstored.orderBy('closed_at').orderBy('period').orderBy('bucket').limit(MAX_STORED);

/**
 * Closes every day, week, month and year that has ended and is not closed yet, then stores the final ranks that are missing. Idempotent, and safe in
 * several processes at once.
 */
export async function closeEndedPeriods(app: App): Promise<void> {
  const due = await findDuePeriods(app);
  if (due.length > 0 && !(await closePeriods(app, due))) return;
  for (const { period, bucket } of await run(app.db, oldestUnstored)) {
    if (await storeFinals(app, period, bucket)) app.log.info({ period, bucket }, 'the final ranks of a period are stored');
  }
}

async function findDuePeriods(app: App): Promise<{ period: Period; bucket: number }[]> {
  const first = await readFirstDay(app);
  const day = (await app.db.query(selectDay))[0]?.day;
  if (first === null || day === undefined) return [];
  return await app.db.query(selectDue, [
    PERIODS,
    PERIODS.map((period) => bucketOf(period, first)),
    PERIODS.map((period) => bucketOf(period, day) - 1),
  ]);
}

/**
 * Marks periods as closed while it holds the day lock in exclusive mode. Every writer of points takes this lock in shared mode before the writer
 * reads the clock. So all rows of the ended days are committed, and no writer can add a row to these days.
 * @returns false when a writer held the day lock for more than 1 s; the next run tries again
 */
async function closePeriods(app: App, due: readonly { period: Period; bucket: number }[]): Promise<boolean> {
  try {
    await app.tx(async (tx) => {
      await tx.query(lockTimeout);
      await tx.query(lockDays);
      await run(tx, insertClosed(due));
    });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === '55P03')) throw error;
    app.log.warn('periods cannot be closed: writers of points hold the day lock; the next run tries again');
    return false;
  }
  app.log.info({ due }, 'periods are closed');
  return true;
}
