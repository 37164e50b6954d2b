import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { HttpError } from '#lib/errors.ts';
import { statement } from '#platform/db/sql.ts';
import { inTurn, takeLock } from '#platform/db/turns.ts';
import { startTestServer, type TestServer } from '#test/support/http/framework.ts';

const SEED = 999_001;
const pause = statement('test_pause_in_turn', 'select pg_sleep($1)');

let first: TestServer;
let second: TestServer;
beforeAll(async () => {
  first = await startTestServer([]);
  second = await startTestServer([], { env: { DATABASE_URL: first.app.config.database.url } });
});
afterAll(async () => {
  await second.close();
  await first.close();
});

/** Takes the lock of a key in turn, keeps it for a time, and returns its result. */
const work = (server: TestServer, key: string, result: number, ms = 0) =>
  inTurn(server.app, key, () =>
    server.app.tx(async (tx) => {
      await takeLock(tx, key, SEED);
      if (ms > 0) await tx.query(pause, [ms / 1_000]);
      return result;
    }),
  );
const connectionsOf = async ({ app }: TestServer) => {
  const pool = await app.orm.em.getConnection().getNativeClient();
  return pool.totalCount - pool.idleCount + pool.waitingCount;
};
const statusOf = (error: unknown) => (error instanceof HttpError ? error.status : error);

test('requests of one process with one key run in the order of their calls, and use one database connection', async () => {
  const order: number[] = [];
  const all = Array.from({ length: 30 }, (_, i) => work(first, 'one', i, 3).then((result) => order.push(result)));
  let most = 0;
  const timer = setInterval(async () => {
    most = Math.max(most, await connectionsOf(first));
  }, 2);
  await Promise.all(all);
  clearInterval(timer);
  expect(order).toEqual(Array.from({ length: 30 }, (_, i) => i));
  expect(most).toBe(1);
});

test('a request waits without a connection while a transaction of another process holds its lock', async () => {
  const held = work(first, 'two', 1, 150);
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(await work(second, 'two', 2)).toBe(2);
  expect(await held).toBe(1);
});

test('a request gets a 429 when a transaction of another process keeps its lock', async () => {
  const held = work(first, 'three', 1, 1_500);
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(await work(second, 'three', 2).catch(statusOf)).toBe(429);
  expect(await held).toBe(1);
});

test('at most 128 requests of a process have or await a turn of one key, and other keys are not affected', async () => {
  const results = await Promise.all([...Array.from({ length: 134 }, () => work(first, 'four', 1).catch(statusOf)), work(first, 'five', 5)]);
  expect([results.filter((result) => result === 1).length, results.filter((result) => result === 429).length, results.at(-1)]).toEqual([128, 6, 5]);
});

test('an error of the work ends its turn', async () => {
  const failing = inTurn(first.app, 'six', () => Promise.reject(new Error('a bug')));
  await expect(failing).rejects.toThrow('a bug');
  expect(await work(first, 'six', 6)).toBe(6);
});
