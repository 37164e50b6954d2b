import { newId } from '#lib/ids.ts';
import { dayNumberOf, type Queryable, statement } from '#platform/db/sql.ts';

const selectPlayed = statement<{ index: number }>(
  'wallets_that_played',
  // Filters by `day` in addition to `at`, because the indexes of these tables contain `day` but not `at`. $4 is a new id: the ids of scores follow the present
  // time within a day, so PostgreSQL skips the partitions of the months before the window. A score without a batch counts at the time of its activity.
  `select k.n::int - 1 as index from unnest($1::text[], $2::timestamptz[], $3::timestamptz[]) with ordinality as k(wallet, since, until, n), lateral (
     select from plays p where p.wallet = k.wallet and p.started_at >= k.since and p.started_at < k.until
     union all select from scores s
     where s.wallet = k.wallet and s.day between ${dayNumberOf('k.since')} and ${dayNumberOf('k.until')} and s.at >= k.since and s.at < k.until and s.batch is not null
       and s.id > days_before($4::uuid, greatest(extract(day from (select app_now()) - k.since)::int, 0) + 2)
     union all select from activities a
     where a.wallet = k.wallet and a.kind in ('play', 'score') and a.day between ${dayNumberOf('k.since')} and ${dayNumberOf('k.until')}
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
  const rows = await db.query(selectPlayed, [windows.map(({ wallet }) => wallet), since, until, newId()]);
  return new Set(rows.map(({ index }) => index));
}
