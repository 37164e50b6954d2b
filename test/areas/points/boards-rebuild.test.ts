import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { boardKeys, detectLostBoards, readPage, readPlaces, readRank, rebuildBoard, refreshBoards } from '#areas/points';
import type { App } from '#platform/app.ts';
import { startApi } from '#test/support/api.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { givePoints, loseBoards, readRunId, sql } from '#test/support/areas/boards.ts';
import { createWallet } from '#test/support/wallet.ts';

/** More rows than one query of a rebuild reads. */
const MANY = 21_000;

/** Reads the all-time rank of a wallet on the global board in Redis; null while the board is not complete. */
const ranksInRedis = async (app: App, wallet: string) => (await readPlaces(app, 'global', [wallet])).map((place) => place?.rank ?? null);

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  await sql(
    t.app,
    `insert into standings (board, mode, wallet, version, total, day, day_value, week, week_value, month, month_value, year, year_value)
     select 'global', 'regular', 'Fake' || lpad(translate(i::text, '0', 'Z'), 36, 'x'), 1, i % 977 - 5, app_day(), i % 97, (app_day() + 3) / 7, i % 89, 0, 0, 0, 0
     from generate_series(1, ${MANY}) i`,
  );
});
afterAll(() => t.close());
beforeEach(() => loseBoards(t.app, 'all'));

const keys = () => boardKeys(t.app.config.redis.prefix, 'global');

/** Reads the all-time totals by wallet: from the board in Redis, and from the standings. */
async function readTotals(): Promise<[Map<string, number>, Map<string, number>]> {
  const shown = await t.app.redis.zrange(keys().span('all', 0), 0, -1, 'WITHSCORES');
  const rows = await sql<{ wallet: string; total: number }>(
    t.app,
    `select wallet, total::float8 as total from standings where board = 'global' and mode = 'regular' and total > 0`,
  );
  const pairs = shown.flatMap((wallet, i) => (i % 2 === 0 ? [[wallet, Number(shown[i + 1])] as const] : []));
  return [new Map(pairs), new Map(rows.map((row) => [row.wallet, row.total]))];
}

async function expectSame(): Promise<void> {
  const [shown, stands] = await readTotals();
  expect(shown.size).toBe(stands.size);
  for (const [wallet, total] of stands) if (shown.get(wallet) !== total) throw new Error(`${wallet}: ${shown.get(wallet)} instead of ${total}`);
}

/** Removes the waiting jobs of the queue `points`. Returns their names and payloads. */
async function takeJobs(): Promise<unknown[]> {
  const jobs = (await t.app.queues.all.get('points')?.getJobs(['waiting', 'prioritized', 'delayed'])) ?? [];
  await Promise.all(jobs.map((job) => job.remove()));
  return jobs.map((job) => [job.name, job.data]);
}

test('while Redis does not answer, boards are read from the database', async () => {
  await rebuildBoard(t.app, 'global');
  const there = await readPage(t.app, 'global', { span: 'all', limit: 20, offset: 30 });
  const sockets = new Set<Socket>();
  const mute = createServer((socket) => void sockets.add(socket));
  await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
  const { port } = mute.address() as AddressInfo;
  const api = await startApi({ ...t.env, REDIS_URL: `redis://127.0.0.1:${port}` }, t.clock);
  try {
    const response = await fetch(`${api.url}/leaderboard/global?limit=20&offset=30`);
    expect(response.status).toBe(200);
    expect(response.headers.get('X-Total-Count')).toBe(String(there.total));
    expect(await response.json()).toMatchObject(there.entries);
  } finally {
    await api.close();
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => mute.close(resolve));
  }
});

test('a rebuild during concurrent writes ends with the totals of the standings', async () => {
  const wallets = Array.from({ length: 40 }, () => createWallet().address);
  let writing = true;
  let writes = 0;
  const writers = [0, 1, 2].map(async (n) => {
    while (writing) {
      const wallet = wallets[(writes * 7 + n) % wallets.length] ?? '';
      await givePoints(t.app, { wallet, points: writes % 5 === 4 ? -90 : 30 });
      writes++;
    }
  });
  await sleep(50);
  await rebuildBoard(t.app, 'global');
  const during = writes;
  await sleep(50);
  writing = false;
  await Promise.all(writers);
  expect(during).toBeGreaterThan(5);
  expect(await readRunId(t.app, 'global')).not.toBeNull();
  await expectSame();
});

test('two concurrent rebuilds complete the board correctly, and a third changes nothing', async () => {
  await Promise.all([rebuildBoard(t.app, 'global'), rebuildBoard(t.app, 'global')]);
  expect(await readRunId(t.app, 'global')).not.toBeNull();
  await expectSame();
  await t.app.redis.zadd(keys().span('all', 0), 5, 'mark');
  const progress: number[] = [];
  await rebuildBoard(t.app, 'global', (percent) => void progress.push(percent));
  expect(await t.app.redis.zscore(keys().span('all', 0), 'mark')).toBe('5');
  // The rebuild of a complete board reads no standings.
  expect(progress).toEqual([]);
});

test('a rebuild reports the percentage of the wallets that the board has', async () => {
  const progress: number[] = [];
  await rebuildBoard(t.app, 'global', (percent) => void progress.push(Math.round(percent)));
  // The first query reads 20,000 wallets.
  expect(progress).toEqual([95, 100]);
});

test('a board that Redis loses during its rebuild is not marked as complete', async () => {
  const rebuilding = rebuildBoard(t.app, 'global');
  const failed = expect(rebuilding).rejects.toThrow('Redis lost the board');
  while ((await t.app.redis.hlen(keys().versions)) === 0) await sleep(1);
  await loseBoards(t.app, 'all');
  await failed;
  expect(await readRunId(t.app, 'global')).toBeNull();
  await rebuildBoard(t.app, 'global');
  await expectSame();
});

test('a board that was completed before a restart of Redis is ignored and rebuilt', async () => {
  await t.app.redis.zadd(keys().span('all', 0), 1_000_000, 'ghost');
  await t.app.redis.hset(keys().versions, 'ghost', 7);
  await t.app.redis.set(keys().ready, 'another-run-id');
  const page = await readPage(t.app, 'global', { span: 'all', limit: 1, offset: 0 });
  expect(page.entries[0]?.wallet).not.toBe('ghost');
  expect(await ranksInRedis(t.app, 'ghost')).toEqual([null]);
  await detectLostBoards(t.app);
  expect(await readRunId(t.app, 'global')).toBeNull();
  expect(await takeJobs()).toContainEqual(['rebuild-board', { board: 'global' }]);
  await rebuildBoard(t.app, 'global');
  expect(await t.app.redis.zscore(keys().span('all', 0), 'ghost')).toBeNull();
  await expectSame();
});

test('reading an incomplete board enqueues at most one rebuild per second', async () => {
  const start = t.clock.now().getTime() + 5_000;
  const readAt = async (ms: number) => {
    const app = { ...t.app, clock: { now: () => new Date(start + ms) } };
    await readPage(app, 'global', { span: 'all', limit: 1, offset: 0 });
    await readRank(app, 'global', { span: 'all', wallet: createWallet().address });
    return await takeJobs();
  };
  await takeJobs();
  const rebuild = ['rebuild-board', { board: 'global' }];
  expect(await readAt(0)).toEqual([rebuild]);
  expect(await readAt(999)).toEqual([]);
  expect(await readAt(1_000)).toEqual([rebuild]);
});

test('a refresh shows the changes of writers outside the score path, also after a killed refresh left its marks', async () => {
  await rebuildBoard(t.app, 'global');
  const { address } = createWallet();
  await givePoints(t.app, { wallet: address, points: 5_000 }, 'refresh');
  await givePoints(t.app, { wallet: address, points: -1_000 }, 'refresh');
  expect(await ranksInRedis(t.app, address)).toEqual([null]);
  const marks = await sql(t.app, `insert into board_refreshes (board, wallet, version) values ('global', $1, 1) on conflict do nothing`, [address]);
  expect(marks).toEqual([]);
  await refreshBoards(t.app);
  expect(await ranksInRedis(t.app, address)).toEqual([1]);
  expect(await sql(t.app, 'select * from board_refreshes')).toEqual([]);
  await sql(t.app, `insert into board_refreshes (board, wallet, version) values ('global', $1, 2)`, [address]);
  await refreshBoards(t.app);
  expect((await readRank(t.app, 'global', { span: 'all', wallet: address })).score).toBe(4_000);
  await givePoints(t.app, { wallet: address, points: -4_000 }, 'refresh');
  await refreshBoards(t.app);
  expect(await ranksInRedis(t.app, address)).toEqual([null]);
  await expectSame();
});

test('one refresh copies all marked standings, also when they are more than one query reads', async () => {
  await sql(
    t.app,
    `insert into board_refreshes (board, wallet, version) select board, wallet, version from standings where wallet like 'Fake%' order by wallet limit 501`,
  );
  await refreshBoards(t.app);
  expect(await sql(t.app, 'select from board_refreshes')).toEqual([]);
  expect(await t.app.redis.hlen(keys().versions)).toBe(501);
});

test('workers rebuild boards that Redis lost', async () => {
  const other = await startTestApp();
  try {
    const { address } = createWallet();
    await givePoints(other.app, { wallet: address, points: 3 });
    for (const _ of [1, 2]) {
      while ((await ranksInRedis(other.app, address))[0] !== 1) await sleep(20);
      await loseBoards(other.app, 'all');
    }
  } finally {
    await other.close();
  }
});
