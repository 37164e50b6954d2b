import { appendPoints, type LedgerEntry, lockPlayers, openDay, readTotals, refreshLater } from '#areas/points';
import { fail } from '#lib/errors.ts';
import { newId } from '#lib/ids.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';

/** A rate has six decimals at most. */
const MICRO = 1_000_000n;

/** What a conversion did; `id` is null where there was nothing to convert, and nothing happened. */
export interface Conversion {
  id: string | null;
  wallet: string;
  rate: string;
  /** Beta points that were converted, and the regular points that they became. */
  betaPoints: number;
  points: number;
  /** What the wallet has now, of either. */
  betaTotal: number;
  total: number;
}

const insert = statement(
  'insert_beta_conversion',
  `with conversion as (
     insert into beta_conversions (id, wallet, rate, beta_points, points, converted_by, at)
     values ($1, $2, $3::text::numeric, $4::int8, $5::int8, $6, $7) returning wallet, beta_points, points)
   update players p set converted_beta = p.converted_beta + c.beta_points, converted_points = p.converted_points + c.points
   from conversion c where p.wallet = c.wallet`,
);

/** `floor(points × rate)`. @param rate decimal text with six decimals at most */
export function converted(points: number, rate: string): bigint {
  const [whole = '0', fraction = ''] = rate.split('.');
  return (BigInt(points) * BigInt(whole + fraction.padEnd(6, '0'))) / MICRO;
}

/**
 * Makes all beta points that a wallet has now regular ones, for all time only. Under the wallet's lock: a beta score is counted before it,
 * or left for the next conversion. Where nothing would come of it, nothing happens.
 * @throws 404 a wallet that never signed in; 409 it is banned; 400 the result is not an exact number
 */
export async function convertBeta(tx: Tx, { wallet, rate, by }: { wallet: string; rate: string; by: string }): Promise<Conversion> {
  const open = await openDay(tx);
  const player = (await lockPlayers(tx, [wallet])).get(wallet);
  if (!player) throw fail(404, 'no such wallet has signed in');
  // Its scores are being taken back.
  if (player.banned) throw fail(409, 'wallet must not be banned');
  const totals = await readTotals(tx, [{ board: 'global', wallet }]);
  const [total = 0, betaTotal = 0] = (['regular', 'beta'] as const).map((mode) => totals.find((row) => row.mode === mode)?.total);
  const points = betaTotal > 0 ? converted(betaTotal, rate) : 0n;
  if (points === 0n) return { id: null, wallet, rate, betaPoints: 0, points: 0, betaTotal, total };
  if (BigInt(total) + points > Number.MAX_SAFE_INTEGER) throw fail(400, 'rate must be lower: the wallet would have too many points to count');

  const id = newId();
  const cause = { wallet, kind: 'conversion', reason: 'conversion', source: 'conversion', sourceId: id, rewards: false } as const;
  const entries: LedgerEntry[] = [
    { ...cause, mode: 'regular', points: Number(points), factors: { rate, betaPoints: betaTotal } },
    { ...cause, mode: 'beta', points: -betaTotal, factors: { rate, points: Number(points) } },
  ];
  await tx.query(insert, [id, wallet, rate, betaTotal, String(points), by, open.at.toISOString()]);
  await refreshLater(tx, await appendPoints(tx, open, entries));
  return { id, wallet, rate, betaPoints: betaTotal, points: Number(points), betaTotal: 0, total: total + Number(points) };
}

/** A conversion as its wallet is told of it. */
export interface PastConversion {
  id: string;
  rate: string;
  betaPoints: number;
  points: number;
  at: string;
}

const selectNewest = statement<PastConversion>(
  'select_beta_conversions',
  `select id, trim_scale(rate)::text as rate, beta_points::float8 as "betaPoints", points::float8 as points,
          ${instant('at')} as at
   from beta_conversions where wallet = $1 order by beta_conversions.at desc, id desc limit 20`,
);

/** The newest conversions of a wallet, 20 at most. */
export async function newestConversions(db: Queryable, wallet: string): Promise<PastConversion[]> {
  return await db.query(selectNewest, [wallet]);
}
