import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { type System, startSystem } from '#dev/stack/system.ts';
import { cpuPerRequest, cpuSeconds, totalWithoutLoad } from './support/cpu.ts';
import { load, request } from './support/load.ts';
import { report, reportLoad } from './support/report.ts';
import { type BenchWallet, openGame, openPlays, SESSION_KEY, signedInWallets, withDatabase } from './support/wallets.ts';

/**
 * This benchmark measures leaderboards of 10³, 10⁵ and 10⁶ wallets over HTTP: reading the top 100, reading a wallet's own rank, and writing a score.
 * All processes share one machine. For each leaderboard, the median latency of a rank request and the CPU time of a score are compared with those of
 * the smallest leaderboard.
 */

const SIZES = (process.env.BENCH_SIZES ?? '1000,100000,1000000').split(',').map(Number);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 6);
const TARGET = { topPerSec: 5_000, rankP99: 5 };
const GAME = 'bench-game';

const system = await startSystem({ durable: true, env: { SESSION_KEYS: SESSION_KEY, DAILY_POINTS_CAP: '1000000000' } });
const port = Number(new URL(system.urls[0] ?? '').port);
const host = `localhost:${port}`;
let smallest: { name: string; rank: number; write: number } | null = null;
try {
  await openGame(system, GAME);
  const wallets = await signedInWallets(system, 1_000);
  for (const size of SIZES) {
    await fill(system, size);
    const rebuilt = await rebuild(system, size);
    const top = await load({ port, connections: 32, seconds: SECONDS, next: () => request('GET', '/leaderboard/global?limit=100', host, {}) });
    const rank = await load({
      port,
      connections: 4,
      seconds: SECONDS,
      next: () => request('GET', '/leaderboard/global/rank', host, { Cookie: oneOf(wallets).cookie }),
    });
    const plays = await openPlays(system, wallets, GAME, 4 * (SECONDS + 2));
    const before = cpuSeconds(system);
    const write = await load({
      port,
      connections: 1,
      seconds: SECONDS,
      next: () => {
        const play = plays.pop();
        return play
          ? request('POST', '/arcade/score', host, { Cookie: play.by.cookie }, { gameId: GAME, score: randomInt(1_000_000), playId: play.playId })
          : null;
      },
    });
    const cost = totalWithoutLoad(cpuPerRequest(before, cpuSeconds(system), write.requests));
    const name = `${size.toLocaleString('en')} wallets`;
    const beside = (value: number | undefined) => (smallest === null || value === undefined ? '' : { peer: smallest.name, value });
    report(`${name}: both boards rebuilt`, rebuilt / 1_000, 's');
    reportLoad(`${name}: top 100, 32 connections`, top, { perSec: TARGET.topPerSec });
    reportLoad(`${name}: own rank, 4 connections`, rank, { p50: beside(smallest?.rank), p99: TARGET.rankP99 });
    reportLoad(`${name}: a score at a time`, write);
    report(`${name}: a score at a time, CPU`, cost, 'µs', beside(smallest?.write));
    smallest ??= { name, rank: rank.p50, write: cost };
  }
} finally {
  await system.stop();
}

/** Inserts the standings of `size` wallets on the global board and on the board of the game. These wallets never sign in. */
async function fill(of: System, size: number): Promise<void> {
  await withDatabase(of, async (db) => {
    await db.query(
      `insert into standings (board, mode, wallet, version, total, day, day_value, week, week_value, month, month_value, year, year_value)
       select b.board, 'regular', translate(left(md5(i::text) || md5('w' || i), 44), '0', 'z'), 1, v, d, v, floor((d + 3) / 7.0)::int, v,
              (extract(year from now()) * 12 + extract(month from now()) - 1)::int, v, extract(year from now())::int, v
       from generate_series(1, $1::int) i, (values ('global'), ('game:${GAME}')) b(board), lateral (select 1 + i % 9999 as v, floor(extract(epoch from now()) / 86400)::int as d) x
       on conflict do nothing`,
      [size],
    );
    await db.query(`vacuum analyze standings`);
  });
}

/**
 * Invalidates the boards in Redis and waits until workers have rebuilt them.
 * @returns duration, ms
 */
async function rebuild(of: System, size: number): Promise<number> {
  const redis = new Redis(of.redis.url);
  const begin = performance.now();
  for (const board of ['global', `game:${GAME}`]) await redis.unlink(`{coinop:board:${board}}:complete`);
  for (;;) {
    const ready = await Promise.all(
      ['global', `game:${GAME}`].map(
        async (board) => (await redis.exists(`{coinop:board:${board}}:complete`)) === 1 && (await redis.zcard(`{coinop:board:${board}}:all`)) >= size,
      ),
    );
    if (ready.every(Boolean)) break;
    await sleep(50);
  }
  redis.disconnect();
  return performance.now() - begin;
}

function oneOf(wallets: readonly BenchWallet[]): BenchWallet {
  const wallet = wallets[randomInt(wallets.length)];
  if (!wallet) throw new Error('the list of wallets is empty');
  return wallet;
}
