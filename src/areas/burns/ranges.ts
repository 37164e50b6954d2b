import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { BurnBoard } from './schemas.ts';

/** Maximum standings in a range of a board. A larger range is split in two. */
export const MAX_RANGE_SIZE = 2_000;

// Inserts the first range of each board of an event. This range has the upper bound infinity, and it is never removed.
const insertFirstRanges = statement(
  'open_burn_boards',
  `insert into burn_ranges (event_id, board, amount, wallet, n)
   select $1, board, 'infinity', '', 0 from unnest(array['total', 'referral', 'game', 'social']) as b(board)`,
);

/** Creates the boards of an event, each with one empty range. */
export const openBoards = (tx: Tx, event: string) => tx.query(insertFirstRanges, [event]);

/** A standing that was added to a board (`by` is 1) or removed from it (`by` is -1). `amount` is in base units, as a string. */
interface StandingChange {
  readonly event: string;
  readonly board: BurnBoard;
  readonly amount: string;
  readonly wallet: string;
  readonly by: 1 | -1;
}

/**
 * A range: `n` consecutive standings of a board. The upper bound (`amount`, `wallet`) belongs to the range. The range extends down to the upper bound
 * of the next lower range, which belongs to that lower range.
 */
interface BoardRange {
  event: string;
  board: BurnBoard;
  amount: string;
  wallet: string;
  n: number;
}
const KEYS = `unnest($1::uuid[], $2::text[], $3::numeric[], $4::text[])`;
const RANGE = `r.event_id::text as event, r.board, r.amount::text, r.wallet, r.n`;

// Updates the number of standings (`n`) in the ranges that hold the changed standings. A standing is in the lowest range whose upper bound is greater
// than or equal to the standing.
const countInRanges = statement<BoardRange>(
  'count_in_burn_ranges',
  `with hit as (
     select r.event_id, r.board, r.amount, r.wallet, sum(c.by)::int as by
     from unnest($1::uuid[], $2::text[], $3::numeric[], $4::text[], $5::int[]) as c(event_id, board, amount, wallet, by), lateral (
       select * from burn_ranges r where r.event_id = c.event_id and r.board = c.board and (r.amount, r.wallet) >= (c.amount, c.wallet)
       order by r.amount, r.wallet limit 1) r
     group by 1, 2, 3, 4)
   update burn_ranges r set n = r.n + hit.by from hit
   where r.event_id = hit.event_id and r.board = hit.board and r.amount = hit.amount and r.wallet = hit.wallet and hit.by <> 0 returning ${RANGE}`,
);
// Removes empty ranges. The next higher range then extends down to the next lower range.
const removeRanges = statement(
  'remove_burn_ranges',
  `delete from burn_ranges r using ${KEYS} as k(event_id, board, amount, wallet)
   where r.event_id = k.event_id and r.board = k.board and r.amount = k.amount and r.wallet = k.wallet and r.amount < 'infinity'`,
);
const splitRanges = statement(
  'split_burn_ranges',
  `with halved as (
     update burn_ranges r set n = r.n / 2 from ${KEYS} as k(event_id, board, amount, wallet)
     where r.event_id = k.event_id and r.board = k.board and r.amount = k.amount and r.wallet = k.wallet returning r.*)
   insert into burn_ranges (event_id, board, amount, wallet, n)
   select h.event_id, h.board, m.amount, m.wallet, k.n - h.n
   from halved h join unnest($1::uuid[], $2::text[], $3::numeric[], $4::text[], $5::int[]) as k(event_id, board, amount, wallet, n)
     using (event_id, board, amount, wallet), lateral (
     select s.amount, s.wallet from burn_standings s
     where s.event_id = h.event_id and s.board = h.board and (s.amount, s.wallet) <= (h.amount, h.wallet)
     order by s.amount desc, s.wallet desc offset h.n limit 1) m`,
);

const keysOf = (ranges: readonly Omit<BoardRange, 'n'>[]) => [
  ranges.map(({ event }) => event),
  ranges.map(({ board }) => board),
  ranges.map(({ amount }) => amount),
  ranges.map(({ wallet }) => wallet),
];

/**
 * Updates the number of standings in each range after standings were added or removed. Removes empty ranges and splits ranges that are too large.
 * Precondition: this transaction wrote the standings and has locked the row of the event.
 */
export async function countChanges(tx: Tx, changes: readonly StandingChange[]): Promise<void> {
  if (changes.length === 0) return;
  const ranges = await tx.query(countInRanges, [...keysOf(changes), changes.map(({ by }) => by)]);
  const empty = ranges.filter(({ n }) => n === 0);
  const full = ranges.filter(({ n }) => n > MAX_RANGE_SIZE);
  if (empty.length > 0) await tx.query(removeRanges, keysOf(empty));
  if (full.length > 0) await tx.query(splitRanges, [...keysOf(full), full.map(({ n }) => n)]);
}
