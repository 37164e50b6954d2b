import { coalesce } from '#lib/coalesce.ts';
import { PERIODS, type Span } from '#lib/periods.ts';
import type { App } from '#platform/app.ts';
import { type Statement, statement } from '#platform/db/sql.ts';
import { type Ask, type Placed, type PlacedRow, placed } from './positions.ts';
import { BOARD_KINDS, type BoardKind, kindOf, type Spot, valueParams, valuesSql } from './values.ts';

/** How many asks one query answers. */
const MOST_ASKS = 2_000;
/** How long a page that was read by SQL is shown, ms. */
const SHARED_MS = 1_000;

const LINE = `wallet, value::float8 as score, rank() over (order by value desc)::int as rank,
  row_number() over (order by value desc, wallet collate "C" desc)::int as position`;

/** Rows of a statement that left-joins lines to the count: one without a line when none was asked for that exists. */
type RankedRow = { total: number } & (PlacedRow | { position: null });

/** The lines down to position $2, of which those in $3 are returned. No whole board is sorted for its top. */
const topSql = (values: string) => `
  select c.total, r.* from (select count(*)::int as total from (${values}) v) c
  left join (select ${LINE} from (select wallet, value from (${values}) v order by value desc, wallet collate "C" desc limit $2::int) top) r
    on r.position <@ $3::int4multirange`;

/** The lines at positions $2, and those around each wallet of $3, $4 positions on either side. */
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
type Form = keyof typeof FIRST_VALUE_PARAM;

function declared(form: Form, kind: BoardKind, span: Span, past: boolean): [string, Statement<RankedRow>] {
  const values = valuesSql(kind, span, past, FIRST_VALUE_PARAM[form]);
  const name = past ? `past_${form}_${kind}_${span}` : `${form}_${span}`;
  return [name, statement(`board_${name}`, form === 'top' ? topSql(values) : aroundSql(values))];
}

const statements = new Map(
  (['top', 'around'] as const).flatMap((form) => [
    ...(['all', ...PERIODS] as const).map((span) => declared(form, 'global', span, false)),
    ...BOARD_KINDS.flatMap((kind) => PERIODS.map((period) => declared(form, kind, period, true))),
  ]),
);

function statementFor(form: Form, { board, span, past }: Spot): Statement<RankedRow> {
  const found = statements.get(past ? `past_${form}_${kindOf(board)}_${span}` : `${form}_${span}`);
  if (!found) throw new Error(`no statement ranks ${span}`);
  return found;
}

/** Ranks a board by SQL, from the standings: slow (it reads the whole board) but right whatever Redis holds. */
export async function rankBySql(app: App, spot: Spot, asks: readonly Ask[]): Promise<Placed> {
  const pages = [];
  const wallets = [];
  let reach = 0;
  for (const ask of asks) {
    if ('limit' in ask) pages.push(ask);
    else {
      wallets.push(ask.wallet);
      reach = Math.max(reach, ask.reach);
    }
  }
  const windows = `{${pages.map(({ offset, limit }) => `[${offset + 1},${offset + limit + 1})`).join(',')}}`;
  const form = wallets.length > 0 ? 'around' : 'top';
  const params = form === 'around' ? [windows, wallets, reach] : [Math.max(...pages.map((page) => page.offset + page.limit)), windows];
  const found = await app.db.query(statementFor(form, spot), [spot.board, ...params, ...valueParams(spot)]);
  return placed(
    found[0]?.total ?? 0,
    found.flatMap((row) => (row.position === null ? [] : [row])),
  );
}

/** A process's SQL reads of boards: one query per part of a board at a time. */
export interface SqlBoards {
  /** Answers with what has just been read, at most a second old. */
  page(spot: Spot, ask: { offset: number; limit: number }): Promise<Placed>;
  /** Answers with what is read after the question. */
  read(spot: Spot, asks: readonly Ask[]): Promise<Placed>;
}

/** Opens a process's SQL reads of boards. */
export function openSqlBoards(app: App): SqlBoards {
  const recent = new Map<string, { until: number; found: Placed }>();
  const run = coalesce<{ spot: Spot; asks: readonly Ask[] }, Placed>(
    async (turn) =>
      await rankBySql(
        app,
        turn[0].spot,
        turn.flatMap(({ asks }) => asks),
      ),
    MOST_ASKS,
  );
  const keyOf = (spot: Spot) => `${spot.board} ${spot.span} ${spot.bucket} ${spot.past}`;
  const read = async (spot: Spot, asks: readonly Ask[]) => await run(keyOf(spot), { spot, asks });
  return {
    read,
    async page(spot, ask) {
      const key = `${keyOf(spot)} ${ask.offset} ${ask.limit}`;
      const now = app.clock.now().getTime();
      for (const [other, { until }] of recent) if (until <= now) recent.delete(other);
      const known = recent.get(key);
      if (known) return known.found;
      const found = await read(spot, [ask]);
      recent.set(key, { until: app.clock.now().getTime() + SHARED_MS, found });
      return found;
    },
  };
}
