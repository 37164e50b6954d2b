import type { z } from 'zod';
import { percentile, ranksOfPage } from '#lib/ranking.ts';
import type { App } from '#platform/app.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { BurnBoard, BurnRank, BurnStanding } from './schemas.ts';

/** The ranges of a board ($1 event, $2 board), each with how many standings are above it. */
const RANGES = `r as materialized (
  select amount, wallet, n, sum(n) over (order by amount desc, wallet desc) - n as above from burn_ranges where event_id = $1 and board = $2)`;
const standing = 's.event_id = $1 and s.board = $2';
/** The standings of a range, best first. They are counted off: within equal amounts, an index scan does not end at a key. */
const inRange = (range: string, part: string) => `
  select s.amount, s.wallet from burn_standings s where ${standing} and (s.amount, s.wallet) <= (${range}.amount, ${range}.wallet)
  order by s.amount desc, s.wallet desc ${part}`;
/** How many have more than an amount: all above the lowest range that begins with more, and those of it that have more. */
const better = (amount: string) => `(
  select b.above + (select count(*) from (${inRange('b', 'limit b.n')}) i where i.amount > ${amount})
  from (select * from r where r.amount > ${amount} order by r.amount, r.wallet limit 1) b)`;

interface Page {
  total: number;
  firstRank: number | null;
  entries: { wallet: string; amount: string }[];
}
// Begins in the range that the place lies in, so no more than one range is passed over.
export const selectPage = statement<Page>(
  'select_burn_board',
  `with ${RANGES}, page as (
     select i.amount, i.wallet from (select * from r where r.above <= $3 and $3 < r.above + r.n) b, lateral (${inRange('b', 'offset $3 - b.above limit $4')}) i)
   select (select coalesce(sum(n), 0) from r)::int as total,
     (select 1 + ${better('first.amount')} from (select max(amount) as amount from page) first)::int as "firstRank",
     (select coalesce(json_agg(json_build_object('wallet', wallet, 'amount', amount::text) order by amount desc, wallet desc), '[]') from page) as entries`,
);
export const selectPlace = statement<{ place: number }>(
  'select_burn_place',
  `with ${RANGES}
   select (b.above + (select count(*) from (${inRange('b', 'limit b.n')}) i where (i.amount, i.wallet) > (m.amount, m.wallet)))::int as place
   from (select s.amount, s.wallet from burn_standings s where ${standing} and s.wallet = $3) m, lateral (
     select * from r where (r.amount, r.wallet) >= (m.amount, m.wallet) order by r.amount, r.wallet limit 1) b`,
);
export const selectRank = statement<{
  rank: number;
  total: number;
  burned: string;
  referral: string | null;
  game: string | null;
  social: string | null;
}>(
  'select_burn_rank',
  `with ${RANGES}
   select (1 + ${better('m.amount')})::int as rank, (select sum(n) from r)::int as total, m.amount::text as burned, o.*
   from (select s.amount from burn_standings s where ${standing} and s.wallet = $3) m, (
     select max(amount) filter (where board = 'referral')::text as referral, max(amount) filter (where board = 'game')::text as game,
       max(amount) filter (where board = 'social')::text as social
     from burn_standings where event_id = $1 and board in ('referral', 'game', 'social') and wallet = $3) o`,
);

/** Which part of a board: \`around\` is a wallet in its middle, if that is listed. */
export interface BoardAsk {
  readonly limit: number;
  readonly offset: number;
  readonly around: string | null;
}

async function offsetOf(db: Queryable, event: string, board: BurnBoard, { limit, offset, around }: BoardAsk): Promise<number> {
  if (around === null) return offset;
  const [found] = await db.query(selectPlace, [event, board, around]);
  return found ? Math.max(0, found.place - Math.floor(limit / 2)) : 0;
}

/** A page of a board, and how many wallets it lists. */
export async function readBoard(
  app: App,
  event: string,
  board: BurnBoard,
  ask: BoardAsk,
): Promise<{ entries: z.input<typeof BurnStanding>[]; total: number }> {
  const offset = await offsetOf(app.db, event, board, ask);
  const [page] = await app.db.query(selectPage, [event, board, offset, ask.limit]);
  if (!page) throw new Error('a board came without a row');
  const ranks = ranksOfPage(
    page.entries.map(({ amount }) => amount),
    page.firstRank ?? 0,
    offset,
  );
  return { entries: page.entries.map((entry, i) => ({ rank: ranks[i] ?? 0, ...entry })), total: page.total };
}

/** A wallet's place by all that it burned in an event. */
export async function readRank(db: Queryable, event: string, wallet: string): Promise<BurnRank> {
  const [found] = await db.query(selectRank, [event, 'total', wallet]);
  const bySource = { referral: found?.referral ?? '0', game: found?.game ?? '0', social: found?.social ?? '0' };
  if (!found) return { rank: null, burned: '0', percentile: null, bySource };
  return { rank: found.rank, burned: found.burned, percentile: percentile(found.rank, found.total), bySource };
}
