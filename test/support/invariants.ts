import { Redis } from 'ioredis';
import pg from 'pg';

/** Where a system's record and its boards are. */
export interface Places {
  databaseUrl: string;
  redisUrl: string;
  redisPrefix: string;
}

/**
 * What does not add up between ledger, standings, scores and the boards in Redis: empty when all is well.
 * Point boards: Σ ledger = standings = Redis; game boards: best accepted score = standings = Redis (regular mode, all time and today).
 */
export async function contradictions({ databaseUrl, redisUrl, redisPrefix }: Places): Promise<string[]> {
  const db = new pg.Client({ connectionString: databaseUrl });
  const redis = new Redis(redisUrl);
  await db.connect();
  try {
    const found: string[] = [];
    const { rows: sums } = await db.query(
      `select coalesce(l.wallet, s.wallet) as wallet, l.points::text as ledger, s.total::text as standing
       from (select wallet, sum(points) as points from ledger where mode = 'regular' group by wallet) l
       full join (select wallet, total from standings where board = 'global' and mode = 'regular') s on s.wallet = l.wallet
       where l.points is distinct from s.total`,
    );
    for (const row of sums) found.push(`global: ${row.wallet} has ${row.ledger} in the ledger and ${row.standing} in the standings`);
    const { rows: bests } = await db.query(
      `select coalesce(c.board, s.board) as board, coalesce(c.wallet, s.wallet) as wallet, c.best::text as score, s.total::text as standing
       from (select 'game:' || game_id as board, wallet, max(normalized) as best from scores where status = 'accepted' and mode = 'regular' group by 1, 2) c
       full join (select board, wallet, total from standings where board like 'game:%' and mode = 'regular') s on s.board = c.board and s.wallet = c.wallet
       where coalesce(c.best, 0) is distinct from coalesce(s.total, 0)`,
    );
    for (const row of bests) found.push(`${row.board}: ${row.wallet} has a best of ${row.score} in scores and ${row.standing} in the standings`);
    const { rows: standings } = await db.query(
      `select board, wallet, total::float8 as total, day, day_value::float8 as day_value from standings where mode = 'regular' and total > 0`,
    );
    for (const [board, rows] of Map.groupBy(standings, (row) => String(row.board))) {
      const tag = `{${redisPrefix}:board:${board}}`;
      const day = Math.max(...rows.map((row) => row.day));
      found.push(...(await difference(redis, `${tag}:all`, new Map(rows.map((row) => [row.wallet, row.total])))));
      const today = rows.filter((row) => row.day === day && row.day_value > 0);
      found.push(...(await difference(redis, `${tag}:day:${day}`, new Map(today.map((row) => [row.wallet, row.day_value])))));
    }
    return found;
  } finally {
    redis.disconnect();
    await db.end();
  }
}

async function difference(redis: Redis, key: string, expected: ReadonlyMap<string, number>): Promise<string[]> {
  const flat = await redis.zrange(key, 0, -1, 'WITHSCORES');
  const shown = new Map<string, number>();
  for (let i = 0; i + 1 < flat.length; i += 2) shown.set(flat[i] ?? '', Number(flat[i + 1]));
  const wallets = new Set([...shown.keys(), ...expected.keys()]);
  return [...wallets]
    .filter((wallet) => shown.get(wallet) !== expected.get(wallet))
    .map((wallet) => `${key}: ${wallet} is shown with ${shown.get(wallet)} and stands at ${expected.get(wallet)}`);
}
