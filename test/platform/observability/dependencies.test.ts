import { setTimeout as poll } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { z } from 'zod';
import { purgeExpired } from '#jobs/maintenance.ts';
import { statement } from '#platform/db/sql.ts';
import { reply, route } from '#platform/http/route.ts';
import { healthz, readyz, startOperations } from '#platform/observability/health.ts';
import { createDatabase, testRedisUrl } from '#test/support/database.ts';
import { answerOf, type Kit, startKit, TOKENS } from '#test/support/http/framework.ts';
import { type Gate, openGate } from '#test/support/servers/tcp-gate.ts';

const one = statement<{ one: number }>('test_one', 'select 1 as one');
const forgetMigration = statement('test_forget_migration', `delete from migrations where name = '0002-points'`);
const dropMigrations = statement('test_drop_migrations', 'drop table migrations');
const Done = { 200: z.object({}) };
const touch = (path: string, handler: Parameters<typeof route<'public', typeof Done>>[0]['handler']) =>
  route({ method: 'get', path, auth: 'public', summary: 'Touches a dependency', returns: Done, fails: [], handler });

const routes = [
  healthz,
  readyz,
  touch('/sql', async ({ app }) => {
    await app.db.query(one);
    return reply(200, {});
  }),
  touch('/tx', async ({ app }) => {
    await app.tx((tx) => tx.query(one));
    return reply(200, {});
  }),
  touch('/redis', async ({ app }) => {
    await app.redis.get('nothing');
    return reply(200, {});
  }),
  touch('/queue', async ({ app }) => {
    await app.queues.add([{ job: purgeExpired, payload: {} }]);
    return reply(200, {});
  }),
  touch('/nothing', async () => reply(200, {})),
];

const UNAVAILABLE = { status: 503, body: { error: 'a dependency of the service is not available, try again' } };

/** Answers in time with 503 and when to come back. */
async function expectUnavailable(url: string, withinMs = 2_000): Promise<void> {
  const response = await fetch(url, { signal: AbortSignal.timeout(withinMs) });
  expect(response.headers.get('Retry-After')).toBe('1');
  expect(await answerOf(response)).toEqual(UNAVAILABLE);
}

/** Polls until a path answers 200 again. */
async function expectRecovery(url: string): Promise<void> {
  const end = performance.now() + 10_000;
  while ((await fetch(url)).status !== 200) {
    expect(performance.now()).toBeLessThan(end);
    await poll(20);
  }
}

let kit: Kit;
let gate: Gate;
let operations: { readonly port: number; close(): Promise<void> };
beforeAll(async () => {
  gate = await openGate(new URL(testRedisUrl()).pathname);
  kit = await startKit(routes, { env: { REDIS_URL: `redis://127.0.0.1:${gate.port}` } });
  operations = await startOperations(kit.app);
  await expectRecovery(`${kit.url}/queue`);
});
afterAll(async () => {
  await gate.shut();
  await gate.open();
  await expectRecovery(`${kit.url}/queue`);
  await operations.close();
  await kit.close();
  await gate.close();
});

const readiness = async () => {
  const asked = performance.now();
  const answers = await Promise.all([`${kit.url}/readyz`, `http://127.0.0.1:${operations.port}/readyz`].map((url) => fetch(url).then(answerOf)));
  expect(performance.now() - asked).toBeLessThan(2_000);
  expect(answers[0]).toEqual(answers[1]);
  return answers[0];
};
const READY = { status: 200, body: { status: 'ok', checks: { postgresql: 'ok', migrations: 'ok', redis: 'ok' } } };
const WITHOUT_REDIS = { status: 503, body: { status: 'failed', checks: { postgresql: 'ok', migrations: 'ok', redis: 'failed' } } };

test.each([
  ['refuses', () => gate.shut(), 2_000],
  // A batch of jobs may take three seconds.
  ['hangs', () => gate.block(), 4_000],
])('a Redis that %s is 503 within seconds, and whatever does not need it goes on', async (_how, fall, queueWithinMs) => {
  expect(await readiness()).toEqual(READY);
  await fall();
  await Promise.all([expectUnavailable(`${kit.url}/redis`), expectUnavailable(`${kit.url}/queue`, queueWithinMs)]);
  for (const path of ['/sql', '/tx', '/nothing', '/healthz']) expect((await fetch(`${kit.url}${path}`)).status).toBe(200);
  expect(await readiness()).toEqual(WITHOUT_REDIS);
  expect(await answerOf(await fetch(`http://127.0.0.1:${operations.port}/healthz`))).toEqual({ status: 200, body: { status: 'ok' } });
  const metrics = await fetch(`http://127.0.0.1:${operations.port}/metrics`, { signal: AbortSignal.timeout(4_000) });
  expect([metrics.status, (await metrics.text()).includes('coinop_sql_connections')]).toEqual([200, true]);
  await gate.shut();
  await gate.open();
  for (const path of ['/redis', '/queue']) await expectRecovery(`${kit.url}${path}`);
  expect(await readiness()).toEqual(READY);
});

test('a PostgreSQL that is not there is 503', async () => {
  const without = await startKit(routes, { env: { DATABASE_URL: 'postgresql://127.0.0.1:1/none' } });
  try {
    await expectUnavailable(`${without.url}/sql`);
    await expectUnavailable(`${without.url}/tx`);
    await expectRecovery(`${without.url}/redis`);
    expect(await answerOf(await fetch(`${without.url}/readyz`))).toEqual({
      status: 503,
      body: { status: 'failed', checks: { postgresql: 'failed', migrations: 'failed', redis: 'ok' } },
    });
  } finally {
    await without.close();
  }
});

test('a PostgreSQL that hangs is 503', async () => {
  const database = await createDatabase();
  const { host, port, user, database: name } = new pg.Client({ connectionString: database.url });
  const way = await openGate(`${host}/.s.PGSQL.${port}`);
  const url = `postgresql://${user}@127.0.0.1:${way.port}/${name}`;
  const behind = await startKit(routes, { env: { DATABASE_URL: url } });
  try {
    await expectRecovery(`${behind.url}/sql`);
    way.block();
    await Promise.all(['/sql', '/tx'].map((path) => expectUnavailable(`${behind.url}${path}`, 30_000)));
  } finally {
    await way.close();
    await behind.close();
    await database.drop();
  }
}, 60_000);

test('an admin action that cannot be audited is not carried out', async () => {
  let acted = 0;
  const action = route({
    method: 'post',
    path: '/admin/act',
    auth: { admin: 'content' },
    summary: 'Acts',
    returns: { 204: null },
    fails: [],
    async handler() {
      acted += 1;
      return reply(204, null);
    },
  });
  const without = await startKit([action], { env: { DATABASE_URL: 'postgresql://127.0.0.1:1/none' } });
  try {
    const response = await fetch(`${without.url}/admin/act`, { method: 'POST', headers: { Authorization: `Bearer ${TOKENS.all}` } });
    expect([response.status, acted]).toEqual([503, 0]);
  } finally {
    await without.close();
  }
});

test('a database that lacks a migration is not ready', async () => {
  const behind = await startKit(routes);
  try {
    await expectRecovery(`${behind.url}/readyz`);
    await behind.app.tx((tx) => tx.query(forgetMigration));
    const checks = { postgresql: 'ok', migrations: 'failed', redis: 'ok' };
    expect(await answerOf(await fetch(`${behind.url}/readyz`))).toEqual({ status: 503, body: { status: 'failed', checks } });
    await behind.app.tx((tx) => tx.query(dropMigrations));
    expect(await answerOf(await fetch(`${behind.url}/readyz`))).toEqual({ status: 503, body: { status: 'failed', checks } });
  } finally {
    await behind.close();
  }
});

test('the operations server says what it knows, and counts requests by route template', async () => {
  const base = `http://127.0.0.1:${operations.port}`;
  await fetch(`${kit.url}/nothing?id=1`);
  await fetch(`${kit.url}/some/path/nobody/knows`);
  const text = await (await fetch(`${base}/metrics`)).text();
  expect(text).toMatch(/coinop_http_request_seconds_count\{method="GET",route="\/nothing",status="200"\} [1-9]/);
  expect(text).toMatch(/coinop_http_request_seconds_count\{method="GET",route="none",status="404"\} [1-9]/);
  expect(text).not.toContain('nobody');
  expect(text).toMatch(/coinop_queue_jobs\{queue="upkeep",state="waiting"\} [1-9]/);
  expect(text).toMatch(/coinop_sql_connections\{state="waiting"\} 0/);
  expect(text).toContain('process_cpu_seconds_total');
  expect(await answerOf(await fetch(`${base}/nowhere`))).toEqual({ status: 404, body: { error: 'no such resource' } });
  expect(await answerOf(await fetch(`${base}/healthz`, { method: 'POST' }))).toEqual({ status: 405, body: { error: 'the method must be GET' } });
});
