import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { BEGIN_WITH_READS, PipelinedClient } from '#platform/db/pipelined-client.ts';
import { statement } from '#platform/db/sql.ts';
import { startTestServer, type TestServer } from '#test/support/http/framework.ts';

let kit: TestServer;
beforeAll(async () => {
  kit = await startTestServer([], { env: { DATABASE_POOL: '2' } });
});
afterAll(() => kit?.close());

const time = statement<{ at: string }>('test_transaction_time', 'select now()::text as at');
const write = statement('test_write_setting', `insert into settings (name, version, value) values ($1, 1, '0')`);
const count = statement<{ n: number }>('test_count_settings', 'select count(*)::int as n from settings where name = $1');
const countOf = async (name: string) => (await kit.app.db.query(count, [name]))[0]?.n;

test('a transaction that begins with reads is one transaction, and commits', async () => {
  const times = await kit.app.tx(
    async (tx) => {
      const first = await Promise.all([tx.query(time), tx.query(time)]);
      await tx.query(write, ['committed']);
      return [...first, await tx.query(time)].map(([row]) => row?.at);
    },
    { readsFirst: true },
  );
  // PostgreSQL's now() is the time at which the transaction began.
  expect(new Set(times).size).toBe(1);
  expect(await countOf('committed')).toBe(1);
});

test('a transaction that begins with reads is rolled back when its work fails', async () => {
  const failing = kit.app.tx(
    async (tx) => {
      await tx.query(time);
      await tx.query(write, ['rolled-back']);
      throw new Error('no');
    },
    { readsFirst: true },
  );
  await expect(failing).rejects.toThrow('no');
  expect(await countOf('rolled-back')).toBe(0);
});

test('a transaction without statements leaves the connection usable', async () => {
  expect(await kit.app.tx(async () => 7, { readsFirst: true })).toBe(7);
  await expect(kit.app.tx(() => Promise.reject(new Error('no')), { readsFirst: true })).rejects.toThrow('no');
  // The pool has two connections, so these writes use all of them.
  await Promise.all(['after-1', 'after-2'].map((name) => kit.app.tx((tx) => tx.query(write, [name]))));
  expect([await countOf('after-1'), await countOf('after-2')]).toEqual([1, 1]);
});

test('a transaction that cannot begin fails, and its connection is closed', async () => {
  const client = new PipelinedClient({ connectionString: kit.app.config.database.url, pipeline: true });
  client.on('error', () => undefined);
  await client.connect();
  await client.query('begin');
  await expect(client.query('select 1/0')).rejects.toThrow('division by zero');
  // PostgreSQL rejects every query of a failed transaction until the rollback, and so also the next beginning.
  const closed = new Promise((resolve) => client.once('end', resolve));
  await client.query(BEGIN_WITH_READS);
  await expect(client.query('select 1')).rejects.toThrow();
  await closed;
  await expect(client.query('commit')).rejects.toThrow();
});
