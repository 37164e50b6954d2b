import { type Queryable, statement } from '#platform/db/sql.ts';

const findReferredBefore = statement<{ index: number }>(
  'wallets_referred_before',
  `select k.n::int - 1 as index from unnest($1::text[], $2::timestamptz[]) with ordinality as k(wallet, at, n), lateral (
     select from referrals r where r.wallet = k.wallet and r.bound_at < k.at limit 1) r`,
);

/**
 * Finds the queries whose wallet was referred before the time `at`, ms since 1970.
 * @returns indexes into `queries`
 */
export async function findWalletsReferredBefore(db: Queryable, queries: readonly { wallet: string; at: number }[]): Promise<Set<number>> {
  const rows = await db.query(findReferredBefore, [queries.map(({ wallet }) => wallet), queries.map(({ at }) => new Date(at).toISOString())]);
  return new Set(rows.map(({ index }) => index));
}
