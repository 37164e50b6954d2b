import { sql } from 'kysely';
import { bucketOf, PERIODS, type Period } from '#lib/periods.ts';
import { type App, perApp } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { type Statement, statement } from '#platform/db/sql.ts';
import { listBoards } from './boards/list-boards.ts';
import { allValuesSql, BOARD_KINDS, type BoardKind, boardKindOf, valueParams } from './boards/values.ts';
import { build } from './build.ts';

const selectClosed = statement<{ stored: boolean }>(
  'select_closed_period',
  'select finals_at is not null as stored from closed_periods where period = $1 and bucket = $2',
);

/** Cached facts that never change: the periods with stored final ranks, and the first UTC day number with points or scores. */
const facts = perApp(() => ({ stored: new Set<string>(), firstDay: null as number | null }));

/** Returns whether the final ranks of a period are stored. */
export async function hasFinals(app: App, period: Period, bucket: number): Promise<boolean> {
  const { stored } = app.state(facts);
  const key = `${period} ${bucket}`;
  if (stored.has(key)) return true;
  const found = (await app.db.query(selectClosed, [period, bucket]))[0]?.stored ?? false;
  if (found) stored.add(key);
  return found;
}

// Selects the first closed day. While no day is closed, scans the tables of points and scores, which contain only a few days at that time.
const selectFirstDay = statement<{ day: number | null }>(
  'select_first_day',
  `select coalesce((select min(bucket) from closed_periods where period = 'day'),
                   least((select min(day) from point_totals), (select min(day) from scores)))::int as day`,
);

/** Returns the first UTC day number with points or scores; null when there are none. */
export async function readFirstDay(app: App): Promise<number | null> {
  const known = app.state(facts);
  known.firstDay ??= (await app.db.query(selectFirstDay))[0]?.day ?? null;
  return known.firstDay;
}

/** Returns whether a bucket ended before the first day with points or scores. */
export async function isBeforeFirstDay(app: App, period: Period, bucket: number): Promise<boolean> {
  const first = await readFirstDay(app);
  return first === null || bucket < bucketOf(period, first);
}

const lockClosed = statement(
  'lock_closed_period',
  'select 1 from closed_periods where period = $1 and bucket = $2 and finals_at is null for update skip locked',
);
// Updates the statistics of the PostgreSQL query planner, so that queries use the indexes at once and not only after the next autovacuum.
const analyze = statement('analyze_finals', 'select analyze_finals()');
const markStored = (period: Period, bucket: number) =>
  build
    .updateTable('closed_periods')
    .set({ finals_at: sql`app_now()` })
    .where('period', '=', period)
    .where('bucket', '=', bucket)
    .where('finals_at', 'is', null);

function insertFinals(kind: BoardKind, period: Period): Statement<unknown> {
  const rows = `
     insert into finals (board, period, bucket, position, rank, wallet, value)
     select $1::text, '${period}', $2::int, row_number() over (order by value desc, wallet collate "C" desc), rank() over (order by value desc), wallet, value
     from (${allValuesSql(kind, period, true, 2)}) v
     where not exists (select 1 from finals where board = $1::text and period = '${period}' and bucket = $2::int)`;
  const withSum = `
     with stored as (${rows} returning value)
     insert into final_sums (board, period, bucket, points) select $1::text, '${period}', $2::int, coalesce(sum(value), 0) from stored on conflict do nothing`;
  return statement(`insert_finals_${kind}_${period}`, kind === 'game' ? rows : withSum);
}
const inserts = new Map<string, Statement<unknown>>(
  BOARD_KINDS.flatMap((kind) => PERIODS.map((period) => [`${kind} ${period}`, insertFinals(kind, period)] as const)),
);

/**
 * Stores the final ranks of a closed period, one transaction per board. If the process is killed, the next run continues with the first board whose
 * ranks are not stored.
 * @returns false when another process is storing these ranks or has stored them
 */
export async function storeFinals(app: App, period: Period, bucket: number): Promise<boolean> {
  for (const board of await listBoards(app.db)) {
    const insert = inserts.get(`${boardKindOf(board)} ${period}`);
    if (!insert) throw new Error(`no SQL statement is declared that stores the final ranks of ${board}`);
    const mine = await app.tx(async (tx) => {
      if ((await tx.query(lockClosed, [period, bucket])).length === 0) return false;
      await tx.query(insert, [board, ...valueParams({ span: period, bucket, past: true })]);
      return true;
    });
    if (!mine) return false;
  }
  await app.tx(async (tx) => {
    await tx.query(analyze);
    await run(tx, markStored(period, bucket));
  });
  return true;
}
