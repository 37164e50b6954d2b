import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { z } from 'zod';
import { purgeExpired } from '#jobs/maintenance.ts';
import { statement } from '#platform/db/sql.ts';
import { reply, route } from '#platform/http/route.ts';
import { healthz, readyz, startHealthServer } from '#platform/observability/health.ts';
import { asOwner, createDatabase, testRedisSocket } from '#test/support/database.ts';
import { readResponse, startTestServer, type TestServer, TOKENS } from '#test/support/http/framework.ts';
import { PATIENCE } from '#test/support/patience.ts';
import { openTcpProxy, type TcpProxy } from '#test/support/servers/tcp-proxy.ts';

const one = statement<{ one: number }>('test_one', 'select 1 as one');
const LOCK = 77;
const waitForLock = statement('test_wait_for_lock', `select pg_advisory_xact_lock_shared(${LOCK})`);
const deleteMigration = statement('test_delete_migration', `delete from migrations where name = '0002-points'`);
const dropMigrations = statement('test_drop_migrations', 'drop table migrations');
const Done = { 200: z.object({}) };
const touch = (path: string, handler: Parameters<typeof route<'public', typeof Done>>[0]['handler']) =>
  route({ method: 'get', path, auth: 'public', summary: 'Uses a dependency', returns: Done, fails: [], handler });

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

/** Expects a 503 with Retry-After within the time. */
async function expectUnavailable(url: string, withinMs = 2_000): Promise<void> {
  const response = await fetch(url, { signal: AbortSignal.timeout(withinMs) });
  expect(response.headers.get('Retry-After')).toBe('1');
  expect(await readResponse(response)).toEqual(UNAVAILABLE);
}

/** Polls until a URL returns 200. */
async function expectRecovery(url: string): Promise<void> {
  const end = performance.now() + PATIENCE * 10_000;
  while ((await fetch(url)).status !== 200) {
    expect(performance.now()).toBeLessThan(end);
    await delay(20);
  }
}

let server: TestServer;
let proxy: TcpProxy;
let health: { readonly port: number; close(): Promise<void> };
beforeAll(async () => {
  proxy = await openTcpProxy(testRedisSocket());
  server = await startTestServer(routes, { env: { REDIS_URL: `redis://127.0.0.1:${proxy.port}` } });
  health = await startHealthServer(server.app);
  await expectRecovery(`${server.url}/queue`);
});
afterAll(async () => {
  await proxy.shut();
  await proxy.open();
  await expectRecovery(`${server.url}/queue`);
  await health.close();
  await server.close();
  await proxy.close();
});

const readiness = async () => {
  const started = performance.now();
  const answers = await Promise.all([`${server.url}/readyz`, `http://127.0.0.1:${health.port}/readyz`].map((url) => fetch(url).then(readResponse)));
  expect(performance.now() - started).toBeLessThan(2_000);
  expect(answers[0]).toEqual(answers[1]);
  return answers[0];
};
const READY = { status: 200, body: { status: 'ok', checks: { postgresql: 'ok', migrations: 'ok', redis: 'ok' } } };
const WITHOUT_REDIS = { status: 503, body: { status: 'failed', checks: { postgresql: 'ok', migrations: 'ok', redis: 'failed' } } };

test.each([
  ['refuses connections', () => proxy.shut(), 2_000],
  // The timeout of a queue command is three seconds.
  ['hangs', () => proxy.block(), 4_000],
])('while Redis %s, requests that need it get a 503 within seconds and the others succeed', async (_case, breakRedis, queueWithinMs) => {
  expect(await readiness()).toEqual(READY);
  await breakRedis();
  await Promise.all([expectUnavailable(`${server.url}/redis`), expectUnavailable(`${server.url}/queue`, queueWithinMs)]);
  for (const path of ['/sql', '/tx', '/nothing', '/healthz']) expect((await fetch(`${server.url}${path}`)).status).toBe(200);
  expect(await readiness()).toEqual(WITHOUT_REDIS);
  expect(await readResponse(await fetch(`http://127.0.0.1:${health.port}/healthz`))).toEqual({ status: 200, body: { status: 'ok' } });
  const metrics = await fetch(`http://127.0.0.1:${health.port}/metrics`, { signal: AbortSignal.timeout(4_000) });
  expect([metrics.status, (await metrics.text()).includes('coinop_sql_connections')]).toEqual([200, true]);
  await proxy.shut();
  await proxy.open();
  for (const path of ['/redis', '/queue']) await expectRecovery(`${server.url}${path}`);
  expect(await readiness()).toEqual(READY);
});

test('the readiness does not wait behind requests that hold every database connection, and concurrent checks share one', async () => {
  expect(await readiness()).toEqual(READY);
  const holder = new pg.Client({ connectionString: server.app.config.database.url });
  await holder.connect();
  await holder.query(`select pg_advisory_lock(${LOCK})`);
  let ended = 0;
  const holding = Array.from({ length: 2 * server.app.config.database.pool }, () => server.app.db.query(waitForLock).then(() => void ended++));
  const answers = await Promise.all(Array.from({ length: 50 }, () => readiness()));
  expect([ended, new Set(answers.map((answer) => JSON.stringify(answer)))]).toEqual([0, new Set([JSON.stringify(READY)])]);
  await holder.end();
  await Promise.all(holding);
});

test('while PostgreSQL refuses connections, requests that need it get a 503', async () => {
  const without = await startTestServer(routes, { env: { DATABASE_URL: 'postgresql://127.0.0.1:1/none' } });
  try {
    await expectUnavailable(`${without.url}/sql`);
    await expectUnavailable(`${without.url}/tx`);
    await expectRecovery(`${without.url}/redis`);
    expect(await readResponse(await fetch(`${without.url}/readyz`))).toEqual({
      status: 503,
      body: { status: 'failed', checks: { postgresql: 'failed', migrations: 'failed', redis: 'ok' } },
    });
  } finally {
    await without.close();
  }
});

test('while PostgreSQL hangs, requests that need it get a 503', async () => {
  const database = await createDatabase();
  const { host, port, user, database: name } = new pg.Client({ connectionString: database.url });
  const postgresProxy = await openTcpProxy(`${host}/.s.PGSQL.${port}`);
  const url = `postgresql://${user}@127.0.0.1:${postgresProxy.port}/${name}`;
  const behind = await startTestServer(routes, { env: { DATABASE_URL: url } });
  try {
    await expectRecovery(`${behind.url}/sql`);
    postgresProxy.block();
    await Promise.all(['/sql', '/tx'].map((path) => expectUnavailable(`${behind.url}${path}`, 30_000)));
  } finally {
    await postgresProxy.close();
    await behind.close();
    await database.drop();
  }
}, 60_000);

test('an admin action does not run when the audit log cannot be written', async () => {
  let runs = 0;
  const action = route({
    method: 'post',
    path: '/admin/act',
    auth: { admin: 'content' },
    summary: 'Runs an action',
    returns: { 204: null },
    fails: [],
    async handler() {
      runs += 1;
      return reply(204, null);
    },
  });
  const without = await startTestServer([action], { env: { DATABASE_URL: 'postgresql://127.0.0.1:1/none' } });
  try {
    const response = await fetch(`${without.url}/admin/act`, { method: 'POST', headers: { Authorization: `Bearer ${TOKENS.all}` } });
    expect([response.status, runs]).toEqual([503, 0]);
  } finally {
    await without.close();
  }
});

test('/readyz fails when the database lacks a migration', async () => {
  const behind = await startTestServer(routes);
  try {
    await expectRecovery(`${behind.url}/readyz`);
    await asOwner(behind.app, (tx) => tx.query(deleteMigration));
    const checks = { postgresql: 'ok', migrations: 'failed', redis: 'ok' };
    expect(await readResponse(await fetch(`${behind.url}/readyz`))).toEqual({ status: 503, body: { status: 'failed', checks } });
    await asOwner(behind.app, (tx) => tx.query(dropMigrations));
    expect(await readResponse(await fetch(`${behind.url}/readyz`))).toEqual({ status: 503, body: { status: 'failed', checks } });
  } finally {
    await behind.close();
  }
});

test('the health server answers /healthz, /readyz and /metrics, and counts requests by route template', async () => {
  const base = `http://127.0.0.1:${health.port}`;
  await fetch(`${server.url}/nothing?id=1`);
  await fetch(`${server.url}/some/path/unknown`);
  const text = await (await fetch(`${base}/metrics`)).text();
  expect(text).toMatch(/coinop_http_request_seconds_count\{method="GET",route="\/nothing",status="200"\} [1-9]/);
  expect(text).toMatch(/coinop_http_request_seconds_count\{method="GET",route="none",status="404"\} [1-9]/);
  expect(text).not.toContain('some/path');
  expect(text).toMatch(/coinop_queue_jobs\{queue="maintenance",state="waiting"\} [1-9]/);
  expect(text).toMatch(/coinop_sql_connections\{state="waiting"\} 0/);
  expect(text).toContain('process_cpu_seconds_total');
  expect(await readResponse(await fetch(`${base}/nowhere`))).toEqual({ status: 404, body: { error: 'no such resource' } });
  expect(await readResponse(await fetch(`${base}/healthz`, { method: 'POST' }))).toEqual({ status: 405, body: { error: 'the method must be GET' } });
});
