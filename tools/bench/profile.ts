import { startSystem } from '#dev/stack/system.ts';
import { load, request } from './support/load.ts';
import { report } from './support/report.ts';
import { type BenchWallet, SESSION_KEY, signedInWallets, withDatabase } from './support/wallets.ts';

/**
 * This benchmark measures the endpoints that return data of one wallet. The wallet has played for a year: 10,000 ledger rows, 500 referred wallets,
 * 2,000 weekly counters of games. One API process, PostgreSQL, Redis and this load share one machine. Each latency is compared with the latency of
 * /healthz, which reads no data.
 */

const P99_MS = 20;
const CONNECTIONS = 4;
const SECONDS = Number(process.env.BENCH_SECONDS ?? 5);
const LEDGER_ROWS = 10_000;
const REFERRED = 500;
const DAYS = 365;

/** JSON for the column `factors` of quest rows in the ledger: how the points were computed. */
const FACTORS = JSON.stringify({ rule: 1, questVersion: 1, basePoints: 100, basisPoints: 10_000, streakDays: 0, linked: false, holding: false });

const own = (path: string) => ({ path, own: true });
const PATHS = [
  own('/api/profile'),
  own('/debug/points'),
  own('/api/profile/beta-points'),
  own('/api/profile/beta-stats'),
  own('/me/quests'),
  own('/me/quest-multiplier'),
  own('/api/tasks/daily'),
  own('/ledger/quests?limit=500'),
  own('/ledger/quests?limit=50&offset=3000'),
  own('/api/referral/summary'),
  own('/api/referral/stats'),
  own('/api/referral/referred?limit=500'),
  own('/leaderboard/global/rank'),
  { path: '/users/{wallet}/stats', own: false },
];

/** Inserts the data that one wallet collects in a year. */
async function seedYear(wallet: string, referred: readonly BenchWallet[]): Promise<void> {
  await withDatabase(system, async (db) => {
    const insert = (text: string) => db.query(text.replaceAll('$wallet', `'${wallet}'`).replaceAll('$today', '(select app_day())'));
    await insert(`
      insert into ledger (wallet, mode, kind, reason, source, source_id, points, rewards, day, at, cause_day, factors)
      select $wallet, case when i % 10 = 0 then 'beta' else 'regular' end, k.kind, k.reason, k.source, 'bench-' || i || ':once', 1 + i % 100, true,
             $today - i % ${DAYS}, app_now() - make_interval(days => i % ${DAYS}, secs => i), 0, '${FACTORS}'
      from generate_series(1, ${LEDGER_ROWS}) i
      join (values (0, 'game', 'score', 'score'), (1, 'quest', 'quest', 'quest'), (2, 'referral', 'referral', 'score')) k(n, kind, reason, source) on k.n = i % 3`);
    await insert(`
      insert into wallet_weeks (wallet, week, kind, subject, counts, bests)
      select $wallet, w - (w + 3) % 7, kind, 'game-' || g, array_fill(3, array[7]), array_fill(5000, array[7])
      from generate_series($today - ${DAYS}, $today, 7) w, unnest('{play,score}'::text[]) kind, generate_series(1, 20) g`);
    await insert(`insert into referral_links (wallet, n, code) values ($wallet, 1, 'BENCHBEN')`);
    await db.query(
      `insert into referrals (wallet, referrer, code, bound_at, verified_at, last_scored_at, points)
       select w, $1, 'BENCHBEN', app_now() - make_interval(days => (n % ${DAYS})::int), app_now(), app_now() - make_interval(days => (n % 40)::int), n
       from unnest($2::text[]) with ordinality as r(w, n)`,
      [wallet, referred.map((r) => r.wallet)],
    );
    await insert(`insert into referral_days (referrer, day, used, points) select $wallet, $today - d, 500, 500 from generate_series(0, ${DAYS}) d`);
    await db.query('vacuum analyze');
  });
}

const system = await startSystem({ durable: true, env: { SESSION_KEYS: SESSION_KEY } });
try {
  const [heavy, ...others] = await signedInWallets(system, 5_000);
  if (!heavy) throw new Error('no wallet was created');
  await seedYear(heavy.wallet, others.slice(0, REFERRED));
  const port = Number(new URL(system.urls[0] ?? '').port);
  const measure = (path: string, cookie: string | null) =>
    load({
      port,
      connections: CONNECTIONS,
      seconds: SECONDS,
      warmupSeconds: 1,
      next: () => request('GET', path.replace('{wallet}', heavy.wallet), `localhost:${port}`, cookie ? { Cookie: cookie } : {}),
    });
  const baseline = await measure('/healthz', null);
  report('/healthz: p50', baseline.p50, 'ms');
  for (const { path, own: isOwn } of PATHS) {
    const result = await measure(path, isOwn ? heavy.cookie : null);
    report(`${path}: p50`, result.p50, 'ms', { peer: '/healthz', value: baseline.p50 });
    report(`${path}: p99`, result.p99, 'ms', { atMost: P99_MS });
    const failed = result.requests === 0 || Object.keys(result.statuses).some((status) => status !== '200');
    if (failed) throw new Error(`${path} returned ${JSON.stringify(result.statuses)}`);
  }
} finally {
  await system.stop();
}
