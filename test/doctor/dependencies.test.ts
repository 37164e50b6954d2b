import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { pino } from 'pino';
import { inspectConfig } from '#config';
import { openContext } from '#context';
import { startRedis } from '#dev/stack/redis.ts';
import { reportAtStart } from '#doctor/at-start.ts';
import type { Check } from '#doctor/check.ts';
import { CHECKS } from '#doctor/checks/index.ts';
import { examine } from '#doctor/examine.ts';
import type { Clock } from '#lib/clock.ts';
import type { App } from '#platform/app.ts';
import { makePartitions } from '#platform/db/partitions.ts';
import type { TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { createEmptyDatabase } from '#test/support/database.ts';
import { startS3 } from '#test/support/servers/s3.ts';
import { startTestChain, type TestChain } from '#test/support/solana/chain.ts';
import { type DoctorTest, startDoctorTest } from './doctor-test.ts';

let d: DoctorTest;
let t: TestApp;
let chain: TestChain;
let run: DoctorTest['run'];
let expectFinding: DoctorTest['expectFinding'];
beforeAll(async () => {
  d = await startDoctorTest();
  ({ t, chain, run, expectFinding } = d);
});
afterAll(() => d?.close());

test('a development system without a mistake has no finding that is wrong, and every check reports', async () => {
  const results = await run(CHECKS.map(({ name }) => name));
  expect(results.filter(({ state }) => state === 'wrong')).toEqual([]);
  expect(results.filter(({ state }) => state === 'warning').map(({ check }) => check)).toEqual(['public-url', 'public-url', 'postgresql', 'redis']);
  expect(new Set(results.map(({ check }) => check))).toEqual(new Set(CHECKS.map(({ name }) => name)));
});

test('a database without migrations, and one of a newer release, are found', async () => {
  const empty = await createEmptyDatabase();
  try {
    await expectFinding('migrations', 'wrong', 'migrations (0001', { env: { DATABASE_URL: empty.url } });
  } finally {
    await empty.drop();
  }
  await sql(t.app, `insert into migrations (name, executed_at) values ('9999-future', now())`);
  try {
    await expectFinding('migrations', 'warning', 'migrations that this release does not know (9999-future)');
  } finally {
    await sql(t.app, `delete from migrations where name = '9999-future'`);
  }
});

test('a table whose partitions end within a month is found', async () => {
  await sql(
    t.app,
    `do $$ declare part text; begin
       for part in select inhrelid::regclass::text from pg_inherits where inhparent = 'score_plays'::regclass
         and inhrelid::regclass::text ~ '[0-9]$' and inhrelid::regclass::text > 'score_plays_' || to_char(now() at time zone 'UTC', 'YYYY_MM')
       loop execute format('drop table %I', part); end loop;
     end $$`,
  );
  await expectFinding('partitions', 'warning', 'the partitions of score_plays end in');
  await t.app.tx(makePartitions);
  expect(await run(['partitions'])).toMatchObject([{ state: 'ok' }]);
});

test('a role without rights, and a database that refuses writes, are found', async () => {
  const url = (t.env.DATABASE_URL ?? '').replace(/[?&]options=.*$/, '');
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const role = `doctor_${process.pid}_${Math.floor(Math.random() * 1e9)}`;
  const name = client.database;
  try {
    await client.query(`create role ${role} login; grant select on payments to ${role}`);
    const other = url.replace(/\/\/[^@]*@/, `//${role}@`);
    await expectFinding('postgresql', 'wrong', 'may not read or insert into', { env: { DATABASE_URL: other } });
    await client.query(`alter role ${role} in database ${name} set default_transaction_read_only = on`);
    await expectFinding('postgresql', 'wrong', 'a server that refuses writes', { env: { DATABASE_URL: other } });
    await client.query(`alter role ${role} in database ${name} set synchronous_commit = off`);
    await expectFinding('postgresql', 'warning', 'synchronous_commit is off', { env: { DATABASE_URL: other } });
  } finally {
    await client.query(`drop owned by ${role}; drop role ${role}`);
    await client.end();
  }
});

test('a server of DATABASE_URL that does not answer, and a DATABASE_READ_URL without a standby, are found', async () => {
  const { DATABASE_URL: url = '' } = t.env;
  const two = url.replace(/(@[^/]*)/, '$1,127.0.0.1:1');
  await expectFinding('postgresql-servers', 'warning', '1 of 2 servers of DATABASE_URL do not answer', { env: { DATABASE_URL: two } });
  await expectFinding('postgresql-servers', 'warning', 'DATABASE_READ_URL leads to no standby', { env: { DATABASE_READ_URL: url } });
});

test('PostgreSQL and Redis that cannot be reached are found, without the passwords', async () => {
  const env = { DATABASE_URL: 'postgresql://coinop:planted-secret@127.0.0.1:1/coinop', REDIS_URL: 'redis://:planted-secret@127.0.0.1:1' };
  const results = await run(['postgresql', 'migrations', 'redis'], { env });
  expect(results.map(({ check, state }) => `${check} ${state}`)).toEqual(['postgresql wrong', 'migrations wrong', 'redis wrong']);
  expect(JSON.stringify(results)).not.toContain('planted-secret');
});

test('a Redis that evicts jobs or stores nothing is found', async () => {
  const server = await startRedis({ folder: join(d.folder, 'redis'), durable: false });
  try {
    const env = { REDIS_URL: server.url };
    await expectFinding('redis', 'warning', 'Redis stores nothing on disk', { env });
    const { config } = inspectConfig({ ...t.env, ...env });
    const app = await openContext(config, 'test-doctor');
    await app.connect().config('SET', 'maxmemory-policy', 'allkeys-lru');
    await app.close();
    await expectFinding('redis', 'wrong', 'maxmemory-policy is allkeys-lru', { env });
  } finally {
    await server.stop();
  }
});

test('RPC nodes that do not answer, of another cluster, or without history are found', async () => {
  const dead = 'http://127.0.0.1:1/planted-secret';
  await expectFinding('rpc', 'wrong', 'SOLANA_RPC_URL does not answer', { env: { SOLANA_RPC_URL: dead } });
  await expectFinding('rpc', 'wrong', 'SOLANA_RPC_SECOND_URL does not answer', { env: { SOLANA_RPC_SECOND_URL: dead } });
  expect(JSON.stringify(await run(['rpc', 'rpc-history', 'clocks'], { env: { SOLANA_RPC_URL: dead } }))).not.toContain('planted-secret');
  await expectFinding('rpc', 'warning', 'but SIGN_IN_CHAIN is mainnet', { env: { SIGN_IN_CHAIN: 'mainnet' } });
  const other = await startTestChain({ genesis: false });
  try {
    await expectFinding('rpc', 'wrong', 'lead to different clusters', { env: { SOLANA_RPC_SECOND_URL: other.localnet.url } });
    await expectFinding('distributor', 'wrong', 'there is no program', { env: { SOLANA_RPC_URL: other.localnet.url } });
    await expectFinding('draws', 'wrong', 'does not exist', { env: { SOLANA_RPC_URL: other.localnet.url } });
    await expectFinding('tokens', 'wrong', 'is not a mint', { env: { SOLANA_RPC_URL: other.localnet.url } });
  } finally {
    await other.close();
  }
  await sql(
    t.app,
    `with t as (insert into chain_transactions (kind, subject, state) values ('test', 'history', 'live') returning id)
     insert into chain_attempts (transaction_id, n, signature, bytes, signers, preamble, last_valid_height, signed_slot, spends, spend_day)
     select id, 1, 'test', '', '{}', 0, 1, 1, '[]', 0 from t`,
  );
  try {
    await chain.control.purge();
    await expectFinding('rpc-history', 'wrong', 'but a pending transaction was signed at slot 1');
  } finally {
    await sql(t.app, `delete from chain_attempts where signature = 'test'`);
    await sql(t.app, `delete from chain_transactions where subject = 'history'`);
  }
});

test('a clock that differs by more than ten seconds is found', async () => {
  const clock: Clock = { now: () => new Date(Date.now() + 25_000) };
  await expectFinding('clocks', 'wrong', 'the clock of PostgreSQL differs from the clock of this machine by -2', { clock });
  await expectFinding('clocks', 'wrong', 'the clock of the cluster differs from the clock of this machine by -2', { clock });
});

test('the clock of a localnet with the offset of the service is right', async () => {
  await chain.control.setOffset(3_600_000);
  try {
    // The offset begins with the next slot.
    await retryUntilPass(async () =>
      expect(await run(['clocks'], { env: { CLOCK_OFFSET_SEC: '3600' } })).toMatchObject([{ state: 'ok' }, { state: 'ok' }]),
    );
    await expectFinding('clocks', 'wrong', 'the clock of the cluster differs from the clock of this machine by 3');
  } finally {
    await chain.control.setOffset(0);
  }
});

test('a folder that cannot be written and a bucket that refuses files are found', async () => {
  writeFileSync(join(d.folder, 'file'), '');
  await expectFinding('storage', 'wrong', '', { env: { MEDIA_FOLDER: join(d.folder, 'file') } });
  await expectFinding('storage', 'warning', 'does not exist', { env: { MEDIA_FOLDER: join(d.folder, 'mistyped') } });
  const s3 = await startS3();
  try {
    mkdirSync(join(d.folder, 'drafts'));
    const env = { ...s3.env, MEDIA_FOLDER: join(d.folder, 'drafts') };
    await expectFinding('storage', 'wrong', '', { env: { ...env, MEDIA_S3_SECRET_KEY: 'wrong-secret-key' } });
    expect(await run(['storage'], { env })).toEqual([expect.objectContaining({ state: 'ok' })]);
  } finally {
    await s3.stop();
  }
});

test('services that are not needed to run are warnings, and so is a key file that others may read', async () => {
  await expectFinding('price', 'warning', 'price', { env: { PRICE_URL: 'http://127.0.0.1:1', REDIS_PREFIX: `${t.env.REDIS_PREFIX}-empty` } });
  await expectFinding('x', 'warning', '', { env: { X_BEARER_TOKEN: 'planted-secret', X_API_URL: 'http://127.0.0.1:1' } });
  const file = join(d.folder, 'key.json');
  writeFileSync(file, JSON.stringify([...chain.keys.feePayer.secretKey]));
  chmodSync(file, 0o644);
  await expectFinding('keys', 'warning', 'other users of this machine may read', { env: { FEE_PAYER_KEY: file } });
});

test('a deny list that cannot be read or is not valid is wrong', async () => {
  const file = join(d.folder, 'denied');
  await expectFinding('deny-list', 'wrong', 'ENOENT', { env: { DENY_LIST: file } });
  writeFileSync(file, 'not-a-wallet\n');
  await expectFinding('deny-list', 'wrong', 'line 1 of the deny list must be a wallet address', { env: { DENY_LIST: file } });
});

test('a process logs at its start one line per wrong finding and a summary, and continues', async () => {
  const lines: { level: number; msg: string; wrong?: number }[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const summary = async (app: App) => {
    lines.length = 0;
    reportAtStart({ ...app, log }, 'worker');
    await retryUntilPass(async () => expect(lines.at(-1)?.msg).toContain('are checked; bin/doctor lists all findings'));
    return lines;
  };
  expect(await summary(t.app)).toEqual([expect.objectContaining({ level: 30, wrong: 0, warning: 4 })]);
  const config = { ...t.app.config, queues: ['scroes'] };
  expect(await summary({ ...t.app, config })).toEqual([
    expect.objectContaining({ level: 50, check: 'queues', msg: 'wrong configuration or dependency: QUEUES names unknown queues: scroes' }),
    expect.objectContaining({ level: 50, wrong: 1 }),
  ]);
});

test('a check that hangs ends at its timeout, and checks of wrong settings do not run', async () => {
  const hanging: Check = { name: 'hanging', settings: [], remedy: 'Wait.', run: () => new Promise(() => undefined) };
  const skipped: Check = { name: 'skipped', settings: ['PORT'], remedy: '', run: () => Promise.reject(new Error('must not run')) };
  const results = await examine(t.app, 'api', { problems: ['PORT is not valid'], checks: [hanging, skipped], timeoutMs: 50 });
  expect(results).toEqual([
    { check: 'settings', state: 'wrong', what: 'PORT is not valid', remedy: null },
    { check: 'hanging', state: 'wrong', what: 'no answer within 0.05 s', remedy: 'Wait.' },
    { check: 'skipped', state: 'off', what: 'not checked, because PORT is wrong', remedy: null },
  ]);
});
