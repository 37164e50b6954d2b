import { isDetached } from '#areas/points';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';

/** The score behind a line of a game board. */
export interface BestScore {
  /** The score that the client submitted, before its normalization. */
  readonly rawScore: number;
  /** Time of the submission. */
  readonly at: string;
}

/** UTC day numbers; both days are included. */
export interface Days {
  readonly first: number;
  readonly last: number;
}

// `limit 1` makes PostgreSQL use one index lookup per line. A voided score is found only if no accepted score has the value: final ranks are stored
// once, so they still show a score that was voided later.
const scoreOf = (status: 'accepted' | 'voided') => `
  select score, at from scores s
  where s.wallet = k.wallet and s.game_id = $1 and s.normalized = k.value and s.day between $4 and $5 and s.status = '${status}' and s.mode = 'regular'
  order by s.day, s.id limit 1`;
const selectBestScores = statement<{ line: number; rawScore: number; at: string }>(
  'select_best_scores',
  `select k.n::int - 1 as line, coalesce(a.score, v.score, c.score)::float8 as "rawScore", ${instant('coalesce(a.at, v.at, c.at)')} as at
   from unnest($2::text[], $3::int[]) with ordinality as k(wallet, value, n)
   left join lateral (${scoreOf('accepted')}) a on true
   left join lateral (select * from (${scoreOf('voided')}) v where a.score is null) v on true
   left join lateral (
     select best_score as score, best_at as at from carried_games g
     where a.score is null and v.score is null and g.wallet = k.wallet and g.mode = 'regular' and g.game_id = $1 and g.best = k.value
       and floor(extract(epoch from g.best_at) / 86400) between $4 and $5 and ${isDetached('g.month')}
     order by g.best_at limit 1) c on true
   where coalesce(a.score, v.score, c.score) is not null`,
);

/**
 * Reads the scores behind lines of the board of a game: for each line, the first score of the wallet in these days with this normalized value.
 * @returns the scores in the order of the lines; null for a line whose score is gone, because the board is about to change
 */
export async function readBestScores(
  db: Queryable,
  gameId: string,
  days: Days,
  lines: readonly { readonly wallet: string; readonly score: number }[],
): Promise<(BestScore | null)[]> {
  const wallets = lines.map(({ wallet }) => wallet);
  const values = lines.map(({ score }) => score);
  const found = new Map<number, BestScore>();
  for (const { line, ...score } of await db.query(selectBestScores, [gameId, wallets, values, days.first, days.last])) found.set(line, score);
  return lines.map((_, i) => found.get(i) ?? null);
}
