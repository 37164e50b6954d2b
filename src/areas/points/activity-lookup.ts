import { type Queryable, statement } from '#platform/db/sql.ts';

const dayOf = (instant: string) => `floor(extract(epoch from ${instant}) / 86400)::int`;
const selectPlayed = statement<{ index: number }>(
  'wallets_that_played',
  // Filters by `day` in addition to `at`, because the index of the table contains `day` but not `at`.
  `select k.n::int - 1 as index from unnest($1::text[], $2::timestamptz[], $3::timestamptz[]) with ordinality as k(wallet, since, until, n), lateral (
     select from activities a
     where a.wallet = k.wallet and a.kind in ('play', 'score') and a.day between ${dayOf('k.since')} and ${dayOf('k.until')}
       and a.at >= k.since and a.at < k.until limit 1) a`,
);

/** A wallet and a time window: from `since` (included) to `until` (excluded), ms since 1970. */
interface PlayWindow {
  readonly wallet: string;
  readonly since: number;
  readonly until: number;
}

/**
 * Finds the windows in which the wallet began a play or had a score accepted.
 * @returns indexes into `windows`
 */
export async function findWalletsThatPlayed(db: Queryable, windows: readonly PlayWindow[]): Promise<Set<number>> {
  const instants = (times: readonly number[]) => times.map((ms) => new Date(ms).toISOString());
  const [since, until] = [instants(windows.map((window) => window.since)), instants(windows.map((window) => window.until))];
  const rows = await db.query(selectPlayed, [windows.map(({ wallet }) => wallet), since, until]);
  return new Set(rows.map(({ index }) => index));
}
