import { type Queryable, statement } from '#platform/db/sql.ts';

const dayOf = (instant: string) => `floor(extract(epoch from ${instant}) / 86400)::int`;
const played = statement<{ place: number }>(
  'wallets_that_played',
  // The index is by day.
  `select k.n::int - 1 as place from unnest($1::text[], $2::timestamptz[], $3::timestamptz[]) with ordinality as k(wallet, since, until, n), lateral (
     select from activities a
     where a.wallet = k.wallet and a.kind in ('play', 'score') and a.day between ${dayOf('k.since')} and ${dayOf('k.until')}
       and a.at >= k.since and a.at < k.until limit 1) a`,
);

/** A wallet, and from when until before when it is asked about, ms since 1970. */
interface Asked {
  readonly wallet: string;
  readonly since: number;
  readonly until: number;
}

/** Which of some wallets began a play, or had a score accepted, in a time each. @returns their places in the list */
export async function playedAmong(db: Queryable, asked: readonly Asked[]): Promise<Set<number>> {
  const instants = (times: readonly number[]) => times.map((ms) => new Date(ms).toISOString());
  const [since, until] = [instants(asked.map((one) => one.since)), instants(asked.map((one) => one.until))];
  const rows = await db.query(played, [asked.map(({ wallet }) => wallet), since, until]);
  return new Set(rows.map(({ place }) => place));
}
