import { randomInt } from 'node:crypto';
import { SYSTEM_ORIGIN, startSystem } from '#dev/stack/system.ts';
import { cpuPerRequest, cpuSeconds, reportCpu } from './support/cpu.ts';
import { load, request } from './support/load.ts';
import { reportLoad } from './support/report.ts';
import { openGame, openPlays, SESSION_KEY, signedInWallets } from './support/wallets.ts';

/**
 * This benchmark measures scores over HTTP with all features: session, origin check, validation job, consumed play, caps, durable PostgreSQL commit,
 * boards, rank in the response, event. One API process, one worker process, PostgreSQL, Redis and this load share one machine.
 */

const TARGETS = [
  { connections: 32, perSec: 2_000, p99: 60 },
  { connections: 128, perSec: 4_000, p99: 120 },
];
/** Load that is sent before the measurements, so that Node compiles the code. */
const WARMUP = { connections: 64, perSec: Number.NaN, p99: Number.NaN };
const SECONDS = Number(process.env.BENCH_SECONDS ?? 10);
const WALLETS = 5_000;
const GAME = 'bench-game';

const system = await startSystem({
  durable: true,
  workers: Number(process.env.BENCH_WORKERS ?? 1),
  env: { SESSION_KEYS: SESSION_KEY, DAILY_POINTS_CAP: '1000000000' },
});
try {
  await openGame(system, GAME);
  const wallets = await signedInWallets(system, WALLETS);
  const port = Number(new URL(system.urls[0] ?? '').port);
  for (const target of [WARMUP, ...TARGETS]) {
    const seconds = SECONDS + 3;
    const plays = await openPlays(system, wallets, GAME, Math.ceil((seconds * 8_000) / WALLETS));
    const next = () => {
      const play = plays.pop();
      if (!play) return null;
      const headers = { Cookie: play.by.cookie, Origin: SYSTEM_ORIGIN };
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
      // Makes the API process load the sessions of all wallets into its cache.
      await load({ port, connections: 16, seconds: 30, next: me });
      await load({ port, connections: target.connections, seconds: 5, next });
      continue;
    }
    const before = cpuSeconds(system);
    const result = await load({ port, connections: target.connections, seconds: SECONDS, warmupSeconds: 3, next });
    reportLoad(`scores, ${target.connections} connections`, result, target);
    reportCpu(`scores, ${target.connections} connections`, cpuPerRequest(before, cpuSeconds(system), result.requests));
  }
} finally {
  await system.stop();
}
