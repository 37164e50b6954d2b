import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { type System, startSystem } from '../stack/system.ts';
import { cpuPerRequest, cpuSeconds } from './cpu.ts';
import { load, request } from './load.ts';
import { type BenchWallet, openPlays, SESSION_KEY, signedInWallets, withDatabase } from './wallets.ts';

/**
 * Boards of 10³, 10⁵ and 10⁶ wallets over HTTP: the top-100 page, a wallet's own rank, a score's write. Everything on one machine.
 * A well-known Go game server reads its top 100 at 1,330/s on such a machine.
 */
const SIZES = [1_000, 100_000, 1_000_000];
const SECONDS = Number(process.env.BENCH_SECONDS ?? 6);
const TARGET = { topPerSec: 5_000, rankP99: 5 };
const PEER_TOP_PER_SEC = 1_330;
const GAME = 'bench-game';

const system = await startSystem({ durable: true, env: { SESSION_KEYS: SESSION_KEY, DAILY_POINTS_CAP: '1000000000' } });
const port = Number(new URL(system.urls[0] ?? '').port);
const host = `localhost:${port}`;
const rows: { wallets: number; topPerSec: number; rankP50: number; rankP99: number; writeP50: number; writeCpu: string }[] = [];
try {
  const definition = {
    name: 'Bench game',
    category: 'bench',
    normalization: { method: 'linear', min: 0, max: 1_000_000, direction: 'higher' },
    pointsPer10000: 100,
    caps: { dailyPoints: 100_000_000, minDurationMs: 0, maxDurationMs: 86_400_000 },
    verification: 'play',
  };
  await withDatabase(system, (db) => db.query('insert into games (id, version, definition) values ($1, 1, $2)', [GAME, JSON.stringify(definition)]));
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
    const writeCpu = cpuPerRequest(before, cpuSeconds(system), write.requests);
    rows.push({ wallets: size, topPerSec: top.perSec, rankP50: rank.p50, rankP99: rank.p99, writeP50: write.p50, writeCpu });
    console.log(
      `${size} wallets (rebuilt in ${(rebuilt / 1000).toFixed(1)} s)\n` +
        `  top 100: ${top.perSec}/s (${ratio(top.perSec / TARGET.topPerSec)} of the target, ${ratio(top.perSec / PEER_TOP_PER_SEC)} of the peer)  p50 ${top.p50} ms  p99 ${top.p99} ms  ${JSON.stringify(top.statuses)}\n` +
        `  own rank, 4 connections: ${rank.perSec}/s  p50 ${rank.p50} ms  p99 ${rank.p99} ms (${ratio(rank.p99 / TARGET.rankP99)} of the limit)  ${JSON.stringify(rank.statuses)}\n` +
        `  a score, one at a time: p50 ${write.p50} ms  p99 ${write.p99} ms  ${writeCpu}  ${JSON.stringify(write.statuses)}`,
    );
  }
  const [first, ...others] = rows;
  for (const row of others) {
    if (!first) break;
    const log = Math.log(row.wallets) / Math.log(first.wallets);
    console.log(
      `${row.wallets} against ${first.wallets} wallets (log n grows ${ratio(log)}): rank ${ratio(row.rankP50 / first.rankP50)}, write ${ratio(row.writeP50 / first.writeP50)}, top 100 ${ratio(first.topPerSec / row.topPerSec)}`,
    );
  }
} finally {
  await system.stop();
}

/** Gives the global board and the game's board `size` wallets, among them none of those that sign in. */
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

/** Has Redis forget the boards, and waits until workers have filled them again; ms. */
async function rebuild(of: System, size: number): Promise<number> {
  const redis = new Redis(of.redis.url);
  const begin = performance.now();
  for (const board of ['global', `game:${GAME}`]) await redis.unlink(`{coinop:board:${board}}:ready`);
  for (;;) {
    const ready = await Promise.all(
      ['global', `game:${GAME}`].map(
        async (board) => (await redis.exists(`{coinop:board:${board}}:ready`)) === 1 && (await redis.zcard(`{coinop:board:${board}}:all`)) >= size,
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
  if (!wallet) throw new Error('no wallets');
  return wallet;
}

function ratio(x: number): string {
  return `${x.toFixed(2)}×`;
}
