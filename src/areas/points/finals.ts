import { bucketOf, PERIODS, type Period } from '#lib/periods.ts';
import type { App } from '#platform/app.ts';
import { type Statement, statement } from '#platform/db/sql.ts';
import { knownBoards } from './boards/list-boards.ts';
import { type Ask, type Placed, type PlacedRow, placed } from './boards/positions.ts';
import { BOARD_KINDS, type BoardKind, kindOf, type Spot, valueParams, valuesSql } from './boards/values.ts';

// Plain conditions on one index each: a plan that reads a whole period would take a second.
const countFinals = statement<{ total: number }>(
  'count_finals',
  'select position as total from finals where board = $1 and period = $2 and bucket = $3 order by position desc limit 1',
);
const selectFinals = statement<PlacedRow>(
  'select_finals',
  `select position, rank, wallet, value::float8 as score from finals
   where board = $1 and period = $2 and bucket = $3 and position between $4 and $5 order by position`,
);
const selectPlaces = statement<{ position: number; rank: number }>(
  'select_final_places',
  'select position, rank from finals where board = $1 and period = $2 and bucket = $3 and wallet = $4',
);

/** Reads the stored final ranks of a closed period. */
export async function readFinals(app: App, { board, span, bucket }: Spot, asks: readonly Ask[]): Promise<Placed> {
  const key = [board, span, bucket];
  const ranges = await Promise.all(
    asks.map(async (ask) => {
      if ('limit' in ask) return [[ask.offset + 1, ask.offset + ask.limit]];
      const place = (await app.db.query(selectPlaces, [...key, ask.wallet]))[0];
      if (!place) return [];
      return [
        [place.position - ask.reach, place.position + ask.reach],
        [place.rank - 1, place.rank - 1],
      ];
    }),
  );
  const [total, ...rows] = await Promise.all([
    app.db.query(countFinals, key),
    ...ranges.flat().map((range) => app.db.query(selectFinals, [...key, ...range])),
  ]);
  return placed(total[0]?.total ?? 0, rows.flat());
}

const selectClosed = statement<{ stored: boolean }>(
  'select_closed_period',
  'select finals_at is not null as stored from closed_periods where period = $1 and bucket = $2',
);

/** What a process knows for good: which finals are stored, and the first day that anything was recorded. */
const facts = new WeakMap<App, { stored: Set<string>; firstDay: number | null }>();
function factsOf(app: App) {
  const known = facts.get(app) ?? { stored: new Set<string>(), firstDay: null };
  facts.set(app, known);
  return known;
}

/** Whether the finals of a period are stored. */
export async function hasFinals(app: App, period: Period, bucket: number): Promise<boolean> {
  const { stored } = factsOf(app);
  const key = `${period} ${bucket}`;
  if (stored.has(key)) return true;
  const found = (await app.db.query(selectClosed, [period, bucket]))[0]?.stored ?? false;
  if (found) stored.add(key);
  return found;
}

// The first day is the first that was closed; until one was, the record is small enough to be looked through.
const selectFirstDay = statement<{ day: number | null }>(
  'select_first_day',
  `select coalesce((select min(bucket) from closed_periods where period = 'day'),
                   least((select min(day) from point_totals), (select min(day) from scores)))::int as day`,
);

/** The first UTC day number that anything was recorded on; null while nothing was. */
export async function firstDay(app: App): Promise<number | null> {
  const known = factsOf(app);
  known.firstDay ??= (await app.db.query(selectFirstDay))[0]?.day ?? null;
  return known.firstDay;
}

/** Whether a bucket ended before anything was recorded. */
export async function isBeforeTime(app: App, period: Period, bucket: number): Promise<boolean> {
  const first = await firstDay(app);
  return first === null || bucket < bucketOf(period, first);
}

const lockClosed = statement(
  'lock_closed_period',
  'select 1 from closed_periods where period = $1 and bucket = $2 and finals_at is null for update skip locked',
);
// What was just stored is to be found by its indexes at once, not when the table is next looked at by itself.
const analyze = statement('analyze_finals', 'analyze finals');
const markStored = statement(
  'mark_finals_stored',
  'update closed_periods set finals_at = app_now() where period = $1 and bucket = $2 and finals_at is null',
);

const insertFinals = (kind: BoardKind, period: Period) =>
  statement(
    `insert_finals_${kind}_${period}`,
    `insert into finals (board, period, bucket, position, rank, wallet, value)
     select $1::text, '${period}', $2::int, row_number() over (order by value desc, wallet collate "C" desc), rank() over (order by value desc), wallet, value
     from (${valuesSql(kind, period, true, 2)}) v
     where not exists (select 1 from finals where board = $1::text and period = '${period}' and bucket = $2::int)`,
  );
const inserts = new Map<string, Statement<unknown>>(
  BOARD_KINDS.flatMap((kind) => PERIODS.map((period) => [`${kind} ${period}`, insertFinals(kind, period)] as const)),
);

/**
 * Stores the final ranks of a closed period, board by board, each in one transaction of its own: a kill loses the board
 * at hand, the next run begins there.
 * @returns false when another process is at it, or was first
 */
export async function storeFinals(app: App, period: Period, bucket: number): Promise<boolean> {
  for (const board of await knownBoards(app.db)) {
    const insert = inserts.get(`${kindOf(board)} ${period}`);
    if (!insert) throw new Error(`no statement stores finals of ${board}`);
    const mine = await app.tx(async (tx) => {
      if ((await tx.query(lockClosed, [period, bucket])).length === 0) return false;
      await tx.query(insert, [board, ...valueParams({ span: period, bucket, past: true })]);
      return true;
    });
    if (!mine) return false;
  }
  await app.tx(async (tx) => {
    await tx.query(analyze);
    await tx.query(markStored, [period, bucket]);
  });
  return true;
}
