import { bucketStart, type Period, type Span } from '#lib/periods.ts';
import { isBanned } from '../banned.ts';

/**
 * Kinds of boards. The value of a wallet is the sum of all its points (global), quest points (quests) or referral points (referrals), or its best
 * score in a game (game).
 */
export const BOARD_KINDS = ['global', 'quests', 'referrals', 'game'] as const;
export type BoardKind = (typeof BOARD_KINDS)[number];

/** Boards whose values are sums of points. */
export const POINT_BOARDS = ['global', 'quests', 'referrals'] as const;
export type PointBoard = (typeof POINT_BOARDS)[number];

export const boardKindOf = (board: string): BoardKind => (board === 'global' || board === 'quests' || board === 'referrals' ? board : 'game');

/** A part of a board: all time (`bucket` is 0), or one bucket, which is a day, week, month or year. `past`: whether the bucket has ended. */
export type BoardScope = { board: string; bucket: number } & ({ span: 'all'; past: false } | { span: Period; past: boolean });

/** Returns the first and the last UTC day number of a bucket. */
const daysOf = (period: Period, bucket: number): [first: number, last: number] => [bucketStart(period, bucket), bucketStart(period, bucket + 1) - 1];

/**
 * For each board kind, the SQL that recomputes the values of an ended bucket from the ledger or the scores. The SQL relation `overwritten` contains
 * the wallets whose standings do not store this bucket any more. `first` and `last` are the first and the last day of the bucket; both days are
 * included.
 */
const RECOMPUTED: Record<BoardKind, (first: string, last: string) => string> = {
  global: (first, last) => summed(`l.kind <> 'conversion'`, first, last),
  quests: (first, last) => summed(`l.kind = 'quest'`, first, last),
  referrals: (first, last) => summed(`l.kind = 'referral'`, first, last),
  game: (first, last) => `
    select c.wallet, max(c.normalized) from scores c
    where c.day between ${first} and ${last} and c.game_id = substr($1::text, 6) and c.status = 'accepted' and c.mode = 'regular'
      and c.wallet in (select wallet from overwritten)
    group by c.wallet`,
};

const summed = (kinds: string, first: string, last: string) => `
    select l.wallet, sum(l.points) from ledger l
    where l.day between ${first} and ${last} and l.mode = 'regular' and ${kinds} and l.wallet in (select wallet from overwritten)
    group by l.wallet`;

/**
 * Returns SQL for the values of a board in regular mode: rows of (wallet, value) with values above 0, without banned wallets. A standing stores its two latest buckets only.
 * For a wallet whose stored buckets are both later than the requested bucket, the SQL recomputes the value from the ledger or the scores.
 * @param at the number of the SQL parameter that gets the first value of `valueParams`; $1 is the board
 */
export function valuesSql(kind: BoardKind, span: Span, past: boolean, at: number): string {
  return `select v.wallet, v.value from (${allValuesSql(kind, span, past, at)}) v where not ${isBanned('v.wallet')}`;
}

/** Returns the SQL of `valuesSql` with banned wallets. Final ranks store them, so that a ban that ends later needs no new ranks. */
export function allValuesSql(kind: BoardKind, span: Span, past: boolean, at: number): string {
  const board = `s.board = $1::text and s.mode = 'regular'`;
  const bucket = `$${at}::int`;
  if (span === 'all') return `select s.wallet, s.total as value from standings s where ${board} and s.total > 0`;
  if (!past) return `select s.wallet, s.${span}_value as value from standings s where ${board} and s.${span} = ${bucket} and s.${span}_value > 0`;
  return `
    with overwritten as materialized (select s.wallet from standings s where ${board} and s.${span}_before > ${bucket})
    select wallet, value::int8 as value from (
      select s.wallet, case when s.${span} = ${bucket} then s.${span}_value else s.${span}_before_value end
      from standings s where ${board} and (s.${span} = ${bucket} or s.${span}_before = ${bucket})
      union all ${RECOMPUTED[kind](`$${at + 1}::int`, `$${at + 2}::int`)}) v(wallet, value)
    where value > 0`;
}

/** Returns the SQL parameters of `valuesSql` other than the board. */
export function valueParams({ span, bucket, past }: Pick<BoardScope, 'span' | 'bucket' | 'past'>): number[] {
  if (span === 'all') return [];
  return past ? [bucket, ...daysOf(span, bucket)] : [bucket];
}
