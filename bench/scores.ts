import { randomInt } from 'node:crypto';
import { startSystem } from '../stack/system.ts';
import { cpuPerRequest, cpuSeconds } from './cpu.ts';
import { load, request } from './load.ts';
import { openPlays, SESSION_KEY, signedInWallets, withDatabase } from './wallets.ts';

/**
 * Scores over HTTP, everything on: session, origin check, validation job, a play used up, caps, PostgreSQL commit to disk,
 * boards, rank in the reply, event. One API and one worker process, PostgreSQL, Redis and this load on one machine.
 */
const TARGETS = [
  { connections: 32, perSec: 2_000, p99: 60 },
  { connections: 128, perSec: 4_000, p99: 120 },
];
/** Not a target: until the compilers have seen the code. */
const WARMUP = { connections: 64, perSec: Number.NaN, p99: Number.NaN };
const SECONDS = Number(process.env.BENCH_SECONDS ?? 10);
const WALLETS = 5_000;
const GAME = 'bench-game';
/** A well-known Go game server writes this many leaderboard records a second on such a machine, at best. */
const PEER_PER_SEC = 2_400;

const system = await startSystem({
  durable: true,
  workers: Number(process.env.BENCH_WORKERS ?? 1),
  env: { SESSION_KEYS: SESSION_KEY, DAILY_POINTS_CAP: '1000000000' },
});
try {
  const definition = {
    name: 'Bench game',
    category: 'bench',
    normalization: { method: 'linear', min: 0, max: 1_000_000, direction: 'higher' },
    pointsPer10000: 100,
    caps: { dailyPoints: 100_000_000, scorePerSec: 1e9, minDurationMs: 0, maxDurationMs: 86_400_000 },
    verification: 'play',
  };
  await withDatabase(system, (db) => db.query('insert into games (id, version, definition) values ($1, 1, $2)', [GAME, JSON.stringify(definition)]));
  const wallets = await signedInWallets(system, WALLETS);
  const port = Number(new URL(system.urls[0] ?? '').port);
  for (const target of TARGETS) {
    const seconds = SECONDS + 3;
    const plays = await openPlays(system, wallets, GAME, Math.ceil((seconds * 8_000) / WALLETS));
    const next = () => {
      const play = plays.pop();
      if (!play) return null;
      const headers = { Cookie: play.by.cookie, Origin: system.urls[0] ?? '' };
      return request('POST', '/arcade/score', `localhost:${port}`, headers, {
        gameId: GAME,
        score: randomInt(1_000_000),
        playId: play.playId,
        durationMs: 50_000,
      });
    };
    if (target === WARMUP) {
      const unread = [...wallets];
      const me = () => {
        const wallet = unread.pop();
        return wallet ? request('GET', '/me', `localhost:${port}`, { Cookie: wallet.cookie }) : null;
      };
      // Sessions as they are in use: in the cache.
      await load({ port, connections: 16, seconds: 30, next: me });
      await load({ port, connections: target.connections, seconds: 5, next });
      continue;
    }
    const before = cpuSeconds(system);
    const result = await load({ port, connections: target.connections, seconds: SECONDS, warmupSeconds: 3, next });
    const stored = await withDatabase(system, async (db) => (await db.query('select count(*)::int as n from scores')).rows[0].n);
    const cpu = cpuPerRequest(before, cpuSeconds(system), result.requests);
    console.log(
      `scores, ${target.connections} connections: ${result.perSec}/s (${ratio(result.perSec / target.perSec)} of the target, ${ratio(result.perSec / PEER_PER_SEC)} of the peer)  ` +
        `p50 ${result.p50} ms  p99 ${result.p99} ms (${ratio(result.p99 / target.p99)} of the limit)  max ${result.max} ms  statuses ${JSON.stringify(result.statuses)}  stored so far ${stored}\n  ${cpu}`,
    );
  }
} finally {
  await system.stop();
}

function ratio(x: number): string {
  return `${x.toFixed(2)}×`;
}
