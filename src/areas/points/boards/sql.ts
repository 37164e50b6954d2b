import { coalesce } from '#lib/concurrency/coalesce.ts';
import { PERIODS, type Span } from '#lib/periods.ts';
import type { App } from '#platform/app.ts';
import { type Statement, statement } from '#platform/db/sql.ts';
import { type BoardPositions, boardPositions, type PositionQuery, type PositionRow } from './positions.ts';
import { BOARD_KINDS, type BoardKind, type BoardScope, boardKindOf, valueParams, valuesSql } from './values.ts';

/** Maximum requests that wait for a query of the same part of a board (all time or one period). Further requests get 503. */
const MAX_REQUESTS = 2_000;
/** Maximum age of a cached page, ms. */
const PAGE_MAX_AGE_MS = 1_000;

const LINE = `wallet, value::float8 as score, rank() over (order by value desc)::int as rank,
  row_number() over (order by value desc, wallet collate "C" desc)::int as position`;

/** A row of `topSql` or `aroundSql`: the number of wallets on the board, and a line. `position` is null if no requested line exists. */
type RankedRow = { total: number } & (PositionRow | { position: null });

/** Returns SQL for the lines at positions $3. The SQL sorts only the best $2 lines of the board. */
const topSql = (values: string) => `
  select c.total, r.* from (select count(*)::int as total from (${values}) v) c
  left join (select ${LINE} from (select wallet, value from (${values}) v order by value desc, wallet collate "C" desc limit $2::int) top) r
    on r.position <@ $3::int4multirange`;

/**
 * Returns SQL for three sets of lines: the lines at the positions $2; the lines of the wallets $3, with $4 lines above and below each wallet; and,
 * for each of these wallets, a line with the next better score.
 */
const aroundSql = (values: string) => `
  with ranked as materialized (select ${LINE} from (${values}) v),
  own as (select position, rank from ranked where wallet = any($3::text[])),
  wanted as (
    select $2::int4multirange
      + coalesce(range_agg(int4range(greatest(position - $4::int, 1), position + $4::int, '[]')), '{}')
      + coalesce(range_agg(int4range(rank - 1, rank)) filter (where rank > 1), '{}') as positions
    from own)
  select c.total, r.* from (select count(*)::int as total from ranked) c cross join wanted
  left join ranked r on r.position <@ wanted.positions`;

const FIRST_VALUE_PARAM = { top: 4, around: 5 } as const;
type QueryForm = keyof typeof FIRST_VALUE_PARAM;

function declareStatement(form: QueryForm, kind: BoardKind, span: Span, past: boolean): [string, Statement<RankedRow>] {
  const values = valuesSql(kind, span, past, FIRST_VALUE_PARAM[form]);
  const name = past ? `past_${form}_${kind}_${span}` : `${form}_${span}`;
  return [name, statement(`board_${name}`, form === 'top' ? topSql(values) : aroundSql(values))];
}

const statements = new Map(
  (['top', 'around'] as const).flatMap((form) => [
    ...(['all', ...PERIODS] as const).map((span) => declareStatement(form, 'global', span, false)),
    ...BOARD_KINDS.flatMap((kind) => PERIODS.map((period) => declareStatement(form, kind, period, true))),
  ]),
);

function statementFor(form: QueryForm, { board, span, past }: BoardScope): Statement<RankedRow> {
  const found = statements.get(past ? `past_${form}_${boardKindOf(board)}_${span}` : `${form}_${span}`);
  if (!found) throw new Error(`no SQL statement is declared that ranks the board ${board} by ${span}`);
  return found;
}

/** Ranks the standings of a board by SQL. Slow, because it reads the whole board, but works without Redis. */
async function rankBySql(app: App, scope: BoardScope, queries: readonly PositionQuery[]): Promise<BoardPositions> {
  const pages = [];
  const wallets = [];
  let reach = 0;
  for (const query of queries) {
    if ('limit' in query) pages.push(query);
    else {
      wallets.push(query.wallet);
      reach = Math.max(reach, query.reach);
    }
  }
  const windows = `{${pages.map(({ offset, limit }) => `[${offset + 1},${offset + limit + 1})`).join(',')}}`;
  const form = wallets.length > 0 ? 'around' : 'top';
  const params = form === 'around' ? [windows, wallets, reach] : [Math.max(...pages.map((page) => page.offset + page.limit)), windows];
  const found = await app.db.query(statementFor(form, scope), [scope.board, ...params, ...valueParams(scope)]);
  return boardPositions(
    found[0]?.total ?? 0,
    found.flatMap((row) => (row.position === null ? [] : [row])),
  );
}

/** Reads boards by SQL. One process runs at most one SQL query at a time for each part of a board (all time or one period). */
export interface SqlBoards {
  /** Returns a page that is at most one second old. */
  page(scope: BoardScope, query: { offset: number; limit: number }): Promise<BoardPositions>;
  /** Returns positions from a database query that starts after the call, never from the cached pages. */
  read(scope: BoardScope, queries: readonly PositionQuery[]): Promise<BoardPositions>;
}

/** Creates the SQL reader of boards for one application. */
export function openSqlBoards(app: App): SqlBoards {
  const recent = new Map<string, { until: number; found: BoardPositions }>();
  const run = coalesce<{ scope: BoardScope; queries: readonly PositionQuery[] }, BoardPositions>(
    async (turn) =>
      await rankBySql(
        app,
        turn[0].scope,
        turn.flatMap(({ queries }) => queries),
      ),
    { maxPerRun: MAX_REQUESTS },
  );
  const keyOf = (scope: BoardScope) => `${scope.board} ${scope.span} ${scope.bucket} ${scope.past}`;
  const read = async (scope: BoardScope, queries: readonly PositionQuery[]) => await run(keyOf(scope), { scope, queries });
  return {
    read,
    async page(scope, query) {
      const key = `${keyOf(scope)} ${query.offset} ${query.limit}`;
      const now = app.clock.now().getTime();
      for (const [other, { until }] of recent) if (until <= now) recent.delete(other);
      const known = recent.get(key);
      if (known) return known.found;
      const found = await read(scope, [query]);
      recent.set(key, { until: app.clock.now().getTime() + PAGE_MAX_AGE_MS, found });
      return found;
    },
  };
}
