import type { App } from '../../context.ts';
import { type Statement, statement } from '../../db/sql.ts';
import { bucketOf, PERIODS, type Period } from '../../lib/periods.ts';
import { BOARD_KINDS, type BoardKind, kindOf, type Spot, valueParams, valuesSql } from './board-values.ts';
import { knownBoards } from './known-boards.ts';
import { type Ask, type Placed, type PlacedRecord, placed, positions, wantedSql } from './placed.ts';

const findFinals = statement<PlacedRecord>(
  'find_finals',
  `with own as (select position, rank from finals where board = $1::text and period = $2::text and bucket = $3::int and wallet = any($5::text[])),
   wanted as (${wantedSql('$4', '$6')})
   select c.total, f.position, f.rank, f.wallet, f.value::float8 as score
   from (select coalesce(max(position), 0)::int as total from finals where board = $1::text and period = $2::text and bucket = $3::int) c
   left join (wanted cross join lateral unnest(wanted.positions) as w(positions)
              join finals f on f.board = $1::text and f.period = $2::text and f.bucket = $3::int
                and f.position >= lower(w.positions) and f.position < upper(w.positions)) on true`,
);

/** Reads the stored final ranks of a closed period. */
export async function readFinals(app: App, spot: Spot, asks: readonly Ask[]): Promise<Placed> {
  const pages = asks.filter((ask) => 'limit' in ask);
  const around = asks.filter((ask) => 'wallet' in ask);
  const reach = Math.max(0, ...around.map((ask) => ask.reach));
  const params = [spot.board, spot.span, spot.bucket, positions(pages), around.map((ask) => ask.wallet), reach];
  return placed(await app.db.query(findFinals, params));
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
const allowTime = statement('finals_statement_timeout', `set local statement_timeout = '10min'`);
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
      await tx.query(allowTime);
      await tx.query(insert, [board, ...valueParams({ span: period, bucket, past: true })]);
      return true;
    });
    if (!mine) return false;
  }
  await app.tx((tx) => tx.query(markStored, [period, bucket]));
  return true;
}
