import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { statement } from '#platform/db/sql.ts';
import { startTestServer, type TestServer } from '#test/support/http/framework.ts';

let kit: TestServer;
beforeAll(async () => {
  kit = await startTestServer([], { env: { DATABASE_POOL: '3' } });
});
afterAll(() => kit?.close());

const die = statement('test_die', 'select pg_terminate_backend(pg_backend_pid())');
const one = statement<{ one: number }>('test_one', 'select 1 as one');

test('connections lost within transactions cost the pool no place', async () => {
  for (let i = 0; i < 8; i++) await expect(kit.app.tx((tx) => tx.query(die))).rejects.toThrow();
  const answers = await Promise.all(Array.from({ length: 6 }, () => kit.app.tx((tx) => tx.query(one))));
  expect(answers).toEqual(Array.from({ length: 6 }, () => [{ one: 1 }]));
});

const dieAtCommit = [
  `create function pg_temp.die() returns trigger language plpgsql as $$
     begin perform pg_terminate_backend(pg_backend_pid()); perform pg_sleep(1); return null; end $$`,
  'create temp table dying (at int)',
  'create constraint trigger die after insert on dying deferrable initially deferred for each row execute function pg_temp.die()',
  'insert into dying values (1)',
].map((text) => ({ text }));

test('nor do connections lost while they commit', async () => {
  const committing = () =>
    kit.app.tx(async (tx) => {
      for (const step of dieAtCommit) await tx.query(step);
    });
  for (let i = 0; i < 8; i++) await expect(committing()).rejects.toThrow();
  const answers = await Promise.all(Array.from({ length: 6 }, () => kit.app.tx((tx) => tx.query(one))));
  expect(answers).toEqual(Array.from({ length: 6 }, () => [{ one: 1 }]));
});

test('nor do connections lost before their transaction begins', async () => {
  const pool = await kit.app.orm.em.getConnection().getNativeClient();
  const lose = (client: { connection?: { stream: { destroy(): void } } }) => void client.connection?.stream.destroy();
  pool.on('acquire', lose);
  for (let i = 0; i < 8; i++) await expect(kit.app.tx((tx) => tx.query(one))).rejects.toThrow();
  pool.off('acquire', lose);
  const answers = await Promise.all(Array.from({ length: 6 }, () => kit.app.tx((tx) => tx.query(one))));
  expect(answers).toEqual(Array.from({ length: 6 }, () => [{ one: 1 }]));
});
