import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { statement } from '#platform/db/sql.ts';
import { toHttpError } from '#platform/http/errors.ts';
import { createDatabase } from '#test/support/database.ts';
import { startTestServer, type TestServer } from '#test/support/http/framework.ts';
import { openTcpProxy } from '#test/support/servers/tcp-proxy.ts';

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

test('a request that gets no connection in time is repeated later than one after a lost connection', async () => {
  const release = Promise.withResolvers<void>();
  const holding = Array.from({ length: 3 }, () => kit.app.tx(() => release.promise));
  const refused = await kit.app.db.query(one).catch(toHttpError);
  release.resolve();
  await Promise.all(holding);
  expect(refused).toMatchObject({ status: 503, headers: { 'Retry-After': '6' } });
  expect(toHttpError(new Error('Connection terminated unexpectedly'))).toMatchObject({ status: 503, headers: { 'Retry-After': '1' } });
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

/** The message `ReadyForQuery` outside a transaction. */
const READY = Buffer.from('Z\0\0\0\x05I');
/** The message `ErrorResponse` with which a server closes a connection. */
const TERMINATED = (() => {
  const fields = Buffer.from('SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0');
  const length = Buffer.alloc(4);
  length.writeInt32BE(fields.length + length.length);
  return Buffer.concat([Buffer.from('E'), length, fields]);
})();

test('nor do connections that the server closes at the moment at which they are established, and the process lives on', async () => {
  const database = await createDatabase();
  const { host, port, user, database: name } = new pg.Client({ connectionString: database.url });
  let isClosing = true;
  const proxy = await openTcpProxy(`${host}/.s.PGSQL.${port}`, (bytes) =>
    isClosing && bytes.subarray(-READY.length).equals(READY) ? Buffer.concat([bytes, TERMINATED]) : bytes,
  );
  const behind = await startTestServer([], {
    env: { DATABASE_URL: `postgresql://${user}@127.0.0.1:${proxy.port}/${name}`, DATABASE_POOL: '3' },
  });
  try {
    for (let i = 0; i < 8; i++) {
      await expect(behind.app.tx((tx) => tx.query(one))).rejects.toThrow();
      await expect(behind.app.db.query(one)).rejects.toThrow();
    }
    isClosing = false;
    const answers = await Promise.all(Array.from({ length: 6 }, () => behind.app.tx((tx) => tx.query(one))));
    expect(answers).toEqual(Array.from({ length: 6 }, () => [{ one: 1 }]));
  } finally {
    await behind.close();
    await proxy.close();
    await database.drop();
  }
}, 60_000);
