import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createApp } from '#app';
import { attachSessionServer } from '#areas/arcade';
import { readConfig } from '#config';
import { openContext, type Timeouts } from '#context';
import type { Clock } from '#lib/clock.ts';
import type { App } from '#platform/app.ts';
import { setAppClock } from '#platform/db/app-clock.ts';
import { drainStreams } from '#platform/events/sse.ts';
import { inFlightOf } from '#platform/http/in-flight.ts';
import { openServer } from '#platform/http/server.ts';
import { untilReady } from '#platform/redis/connection.ts';
import { publishEvents } from '#workers/publish-events.ts';
import { serveQueues } from '#workers/worker-pool.ts';
import { asOwner, createDatabase, testRedisUrl } from './database.ts';
import { watchInstants } from './http/instants.ts';
import { recordSuccesses } from './http/successes.ts';
import { deleteKeys } from './redis-keys.ts';

/** The admin token that every test application accepts. */
export const ADMIN_TOKEN = 'test-admin-token-0123456789';

/** Timeouts for tests, because a loaded machine may pause for seconds. Tests of timeouts use `productionTimeouts` or `startApi`. */
const LONG_TIMEOUTS: Timeouts = { sqlMs: 60_000, redisMs: 30_000, queueMs: 30_000 };

/** Makes the partitions of the months around the present time. */
const makePartitionsAround = { text: `select make_partitions((app_now() - interval '2 months')::date, (app_now() + interval '3 months')::date)` };

/** Time that the partitions of a new database cover at least, ms. */
const PARTITIONS_AHEAD_MS = 80 * 86_400_000;

/** A clock that tests can set. It also sets `app_now()` of the database. */
export interface TestClock extends Clock {
  /** Sets the current time of both clocks. */
  set(at: Date): Promise<void>;
}

/** A running application: API and workers in this process, with its own database and Redis prefix. */
export interface TestApp {
  readonly app: App;
  readonly url: string;
  readonly origin: string;
  readonly clock: TestClock;
  /** The application of the worker; null when the test has no worker. */
  readonly workerApp: App | null;
  readonly env: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/**
 * Starts an application with its own database and Redis prefix.
 * @param options.workers false: starts no worker
 * @param options.env further environment variables, such as GATE
 * @param options.productionTimeouts uses the timeouts of production
 */
export async function startTestApp(
  options: { workers?: boolean; env?: Record<string, string>; productionTimeouts?: boolean } = {},
): Promise<TestApp> {
  const database = await createDatabase();
  const name = `test-${randomBytes(6).toString('hex')}`;
  const folder = join(tmpdir(), `coinop-media-${name}`);
  const env = {
    NODE_ENV: 'test',
    DATABASE_URL: database.serviceUrl,
    REDIS_URL: testRedisUrl(),
    REDIS_PREFIX: name,
    MEDIA_FOLDER: folder,
    ADMIN_TOKENS: ADMIN_TOKEN,
    PUBLIC_URL: 'http://coinop.test',
    // Only the tests of the arcade page need it; the others do not depend on whether it is built.
    WEB: 'off',
    LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'fatal',
    // 8 s on a test chain with slots of 10 ms, like the default with slots of 400 ms.
    LANDING_RAISE_SLOTS: '800',
    // Many tests submit hundreds of scores of one wallet.
    UNVERIFIED_SCORES_PER_MINUTE: '100000',
    UNVERIFIED_SCORES_PER_DAY: '100000',
    ...options.env,
  };
  let shift = 0;
  const clock: Clock = { now: () => new Date(Date.now() + shift) };
  const app = await openContext(readConfig(env), 'test-api', { clock, ...(options.productionTimeouts ? {} : { timeouts: LONG_TIMEOUTS }) });
  await waitForRedis(app);
  // Wide bounds, so that the concurrent requests of a test race each other in the database. Tests of the bounds use `startApi`.
  inFlightOf(app).resize(1_000);
  const koa = createApp(app);
  const server = openServer(koa);
  recordSuccesses(server);
  const violations = watchInstants(server);
  const verification = attachSessionServer(server, app, koa);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address() as AddressInfo;
  const worker = options.workers === false ? null : await startWorker(env, clock);
  return {
    app,
    url: `http://127.0.0.1:${address.port}`,
    origin: app.config.publicUrl.origin,
    env,
    workerApp: worker?.app ?? null,
    clock: {
      now: clock.now,
      async set(at) {
        const shiftTo = async () => {
          shift = at.getTime() - Date.now();
          await asOwner(app, (tx) => tx.query(setAppClock, [shift]));
        };
        await shiftTo();
        if (shift < PARTITIONS_AHEAD_MS) return;
        // In a service that runs all the time, the job `keep-history` has made the partitions ahead. Here the months between would take seconds.
        await asOwner(app, (tx) => tx.query(makePartitionsAround));
        await shiftTo();
      },
    },
    async close() {
      await worker?.close();
      await drainStreams(app);
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await verification.close();
      await closed;
      await deleteKeys(app.redis, `*${env.REDIS_PREFIX}*`);
      await app.close();
      await database.drop();
      await rm(folder, { recursive: true, force: true });
      if (violations.length > 0) throw new Error(`responses had instants of another format:\n${violations.join('\n')}`);
    },
  };
}

/** Waits until Redis is ready, or for two seconds, because some tests use an unreachable Redis. */
async function waitForRedis(app: App): Promise<void> {
  await Promise.race([untilReady(app.redis), sleep(2_000, undefined, { ref: false })]);
}

/** Starts a worker of an application in this process. */
export async function startWorker(env: Record<string, string>, clock?: Clock): Promise<{ app: App; close(): Promise<void> }> {
  const app = await openContext(readConfig(env), 'test-worker', { timeouts: LONG_TIMEOUTS, ...(clock ? { clock } : {}) });
  const fleet = await serveQueues(app, app.config.queues);
  const publisher = publishEvents(app);
  return {
    app,
    async close() {
      await Promise.all([fleet.close(), publisher.close()]);
      await app.close();
    },
  };
}
