import type { z } from 'zod';
import { percentile, ranksOfPage } from '#lib/ranking.ts';
import type { App } from '#platform/app.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { BurnBoard, BurnRank, BurnStanding } from './schemas.ts';

/**
 * SQL: the ranges of a board. A range contains consecutive standings.
 * `n`: number of standings in the range. `above`: number of standings in all better ranges.
 * $1: id of the event. $2: name of the board.
 */
const RANGES = `r as materialized (
  select amount, wallet, n, sum(n) over (order by amount desc, wallet desc) - n as above from burn_ranges where event_id = $1 and board = $2)`;
const ON_BOARD = 's.event_id = $1 and s.board = $2';
/**
 * SQL: selects standings from the upper bound of a range downwards, best first.
 * `part`: a `limit` or `offset` clause that limits the scan by a number of rows, because an index scan cannot stop at a lower bound among equal
 * amounts.
 */
const inRange = (range: string, part: string) => `
  select s.amount, s.wallet from burn_standings s where ${ON_BOARD} and (s.amount, s.wallet) <= (${range}.amount, ${range}.wallet)
  order by s.amount desc, s.wallet desc ${part}`;
/**
 * SQL: counts the standings whose amount is greater than `amount`. Finds the lowest range whose upper bound is greater than `amount`. Counts all
 * standings in better ranges, and the standings with a greater amount in this range.
 */
const countBetter = (amount: string) => `(
  select b.above + (select count(*) from (${inRange('b', 'limit b.n')}) i where i.amount > ${amount})
  from (select * from r where r.amount > ${amount} order by r.amount, r.wallet limit 1) b)`;

interface BoardPage {
  total: number;
  firstRank: number | null;
  entries: { wallet: string; amount: string }[];
}
// The scan begins in the range that contains the offset ($3), so it skips only rows of this range.
const selectPage = statement<BoardPage>(
  'select_burn_board',
  `with ${RANGES}, page as (
     select i.amount, i.wallet from (select * from r where r.above <= $3 and $3 < r.above + r.n) b, lateral (${inRange('b', 'offset $3 - b.above limit $4')}) i)
   select (select coalesce(sum(n), 0) from r)::int as total,
     (select 1 + ${countBetter('first.amount')} from (select max(amount) as amount from page) first)::int as "firstRank",
     (select coalesce(json_agg(json_build_object('wallet', wallet, 'amount', amount::text) order by amount desc, wallet desc), '[]') from page) as entries`,
);
const selectPosition = statement<{ position: number }>(
  'select_burn_position',
  `with ${RANGES}
   select (b.above + (select count(*) from (${inRange('b', 'limit b.n')}) i where (i.amount, i.wallet) > (m.amount, m.wallet)))::int as position
   from (select s.amount, s.wallet from burn_standings s where ${ON_BOARD} and s.wallet = $3) m, lateral (
     select * from r where (r.amount, r.wallet) >= (m.amount, m.wallet) order by r.amount, r.wallet limit 1) b`,
);
const selectRank = statement<{
  rank: number;
  total: number;
  burned: string;
  referral: string | null;
  game: string | null;
  social: string | null;
}>(
  'select_burn_rank',
  `with ${RANGES}
   select (1 + ${countBetter('m.amount')})::int as rank, (select sum(n) from r)::int as total, m.amount::text as burned, o.*
   from (select s.amount from burn_standings s where ${ON_BOARD} and s.wallet = $3) m, (
     select max(amount) filter (where board = 'referral')::text as referral, max(amount) filter (where board = 'game')::text as game,
       max(amount) filter (where board = 'social')::text as social
     from burn_standings where event_id = $1 and board in ('referral', 'game', 'social') and wallet = $3) o`,
);

const selectBanned = statement<HiddenStanding>(
  'select_banned_burners',
  // One index lookup per banned wallet.
  `with ${RANGES}
   select m.wallet, m.amount::text as amount,
     (b.above + (select count(*) from (${inRange('b', 'limit b.n')}) i where (i.amount, i.wallet) > (m.amount, m.wallet)))::int as position
   from players p, lateral (
     select s.amount, s.wallet from burn_standings s where ${ON_BOARD} and s.wallet = p.wallet offset 0) m, lateral (
     select * from r where (r.amount, r.wallet) >= (m.amount, m.wallet) order by r.amount, r.wallet limit 1) b
   where p.banned_at is not null order by position`,
);

/** The standing of a banned wallet, which is stored but not shown. `position`: from 0, among all stored standings. */
interface HiddenStanding {
  readonly wallet: string;
  readonly amount: string;
  readonly position: number;
}

/** Returns the stored position of a shown position. */
const storedPosition = (hidden: readonly HiddenStanding[], shown: number): number =>
  hidden.reduce((stored, { position }) => (position <= stored ? stored + 1 : stored), shown);

/** Returns the number of hidden standings with a greater amount. */
const hiddenAbove = (hidden: readonly HiddenStanding[], amount: string): number => hidden.filter((one) => BigInt(one.amount) > BigInt(amount)).length;

/**
 * Selects a page of a board. `around`: wallet at the centre of the page; if the wallet is not on the board, the page begins at the top. If `around`
 * is null, the page begins at `offset`.
 */
export interface BoardQuery {
  readonly limit: number;
  readonly offset: number;
  readonly around: string | null;
}

async function offsetOf(
  db: Queryable,
  event: string,
  board: BurnBoard,
  { limit, offset, around }: BoardQuery,
  hidden: readonly HiddenStanding[],
): Promise<number> {
  if (around === null) return offset;
  const [found] = await db.query(selectPosition, [event, board, around]);
  if (!found || hidden.some(({ wallet }) => wallet === around)) return 0;
  const position = found.position - hidden.filter((one) => one.position < found.position).length;
  return Math.max(0, position - Math.floor(limit / 2));
}

/** Reads a page of a board, and the number of wallets on the board. Leaves out banned wallets. */
export async function readBurnBoard(
  app: App,
  event: string,
  board: BurnBoard,
  query: BoardQuery,
): Promise<{ entries: z.input<typeof BurnStanding>[]; total: number }> {
  const hidden = await app.db.query(selectBanned, [event, board]);
  const offset = await offsetOf(app.db, event, board, query, hidden);
  const first = storedPosition(hidden, offset);
  const [page] = await app.db.query(selectPage, [event, board, first, storedPosition(hidden, offset + query.limit) - first]);
  if (!page) throw new Error('the statement select_burn_board returned no row');
  const banned = new Set(hidden.map(({ wallet }) => wallet));
  const entries = page.entries.filter(({ wallet }) => !banned.has(wallet));
  const ranks = ranksOfPage(
    entries.map(({ amount }) => amount),
    (page.firstRank ?? 0) - hiddenAbove(hidden, entries[0]?.amount ?? '0'),
    offset,
  );
  return { entries: entries.map((entry, i) => ({ rank: ranks[i] ?? 0, ...entry })), total: page.total - hidden.length };
}

/** Reads a wallet's rank in an event, by the sum of its burns. A banned wallet has no rank. */
export async function readBurnRank(db: Queryable, event: string, wallet: string): Promise<BurnRank> {
  const [[found], hidden] = await Promise.all([db.query(selectRank, [event, 'total', wallet]), db.query(selectBanned, [event, 'total'])]);
  const bySource = { referral: found?.referral ?? '0', game: found?.game ?? '0', social: found?.social ?? '0' };
  if (!found || hidden.some((one) => one.wallet === wallet)) return { rank: null, burned: found?.burned ?? '0', percentile: null, bySource };
  const rank = found.rank - hiddenAbove(hidden, found.burned);
  return { rank, burned: found.burned, percentile: percentile(rank, found.total - hidden.length), bySource };
}
