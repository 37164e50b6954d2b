import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { createEmptyDatabase, testRedisUrl } from '#test/support/database.ts';
import { type ServiceProcess, startServiceProcess } from '#test/support/service-process.ts';

let database: { url: string; drop(): Promise<void> };
let env: Record<string, string>;
const processes: ServiceProcess[] = [];
beforeAll(async () => {
  database = await createEmptyDatabase();
  const name = `test-${randomBytes(6).toString('hex')}`;
  env = {
    NODE_ENV: 'test',
    DATABASE_URL: database.url,
    REDIS_URL: testRedisUrl(),
    REDIS_PREFIX: name,
    MEDIA_FOLDER: join(tmpdir(), `coinop-media-${name}`),
    DRAND_URLS: 'http://127.0.0.1:1',
    PRICE_URL: 'http://127.0.0.1:1',
  };
});
afterEach(() => {
  for (const { child } of processes.splice(0)) child.kill('SIGKILL');
});
afterAll(() => database.drop());

function start(file: string, changed: Record<string, string> = {}): ServiceProcess {
  const started = startServiceProcess(file, { ...env, ...changed });
  processes.push(started);
  return started;
}
const READY = { status: 200, body: { status: 'ok', checks: { postgresql: 'ok', migrations: 'ok', redis: 'ok' } } };

async function untilReady(one: ServiceProcess): Promise<void> {
  for (const end = performance.now() + 30_000; (await one.readiness()).status !== 200; await sleep(50)) expect(performance.now()).toBeLessThan(end);
  expect(await one.readiness()).toEqual(READY);
}

test('without migrations the API and the worker are not ready and the worker takes no jobs; both continue by themselves after the migration', async () => {
  const [api, worker, stopped] = [start('src/server.ts'), start('workers/main.ts'), start('workers/main.ts')];
  for (const waiting of [worker, stopped]) await waiting.logged('the database lacks migrations of this release; the worker waits');
  await api.logged('api is ready');
  for (const one of [api, worker]) {
    expect(await one.readiness()).toMatchObject({ status: 503, body: { status: 'failed', checks: { postgresql: 'ok', migrations: 'failed' } } });
  }
  // Both log at the start what bin/doctor finds.
  for (const one of [api, worker]) {
    expect(await one.logged('wrong configuration or dependency: the database lacks')).toMatchObject({ level: 'error', check: 'migrations' });
    expect(await one.logged('the configuration and the dependencies are checked')).toMatchObject({ level: 'error', wrong: expect.any(Number) });
  }
  expect(await stopped.stop()).toBe(0);
  expect(worker.log.map(({ msg }) => msg)).not.toContain('worker is ready');

  await start('src/migrate.ts').logged('database is up to date');
  await worker.logged('worker is ready');
  await Promise.all([untilReady(worker), untilReady(api)]);
  expect(await Promise.all([worker.stop(), api.stop()])).toEqual([0, 0]);
});

test('a worker whose PostgreSQL does not answer waits, and logs the reason once', async () => {
  const worker = start('workers/main.ts', { DATABASE_URL: 'postgresql://127.0.0.1:1/none' });
  await worker.logged('PostgreSQL does not answer; the worker waits');
  expect(await worker.readiness()).toMatchObject({ status: 503, body: { checks: { postgresql: 'failed', migrations: 'failed' } } });
  await sleep(2_500);
  expect(worker.log.filter(({ msg }) => msg.includes('the worker waits'))).toHaveLength(1);
  expect(await worker.stop()).toBe(0);
});
