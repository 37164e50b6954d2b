import { type Queryable, statement } from '#platform/db/sql.ts';

const bound = statement<{ place: number }>(
  'wallets_referred_before',
  `select k.n::int - 1 as place from unnest($1::text[], $2::timestamptz[]) with ordinality as k(wallet, at, n), lateral (
     select from referrals r where r.wallet = k.wallet and r.bound_at < k.at limit 1) r`,
);

/** Which of some wallets had been referred before a time (ms since 1970) each. @returns their places in the list */
export async function referredBefore(db: Queryable, asks: readonly { wallet: string; at: number }[]): Promise<Set<number>> {
  const rows = await db.query(bound, [asks.map(({ wallet }) => wallet), asks.map(({ at }) => new Date(at).toISOString())]);
  return new Set(rows.map(({ place }) => place));
}
