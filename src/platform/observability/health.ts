import { createServer, type Server } from 'node:http';
import { z } from 'zod';
import { type App, type GaugeReader, perApp } from '#platform/app.ts';
import { reply, route } from '#platform/http/route.ts';
import { openMetrics } from './metrics/scrape.ts';
import { probeOf } from './probe.ts';

/** Timeout of one dependency check, ms. */
const CHECK_TIMEOUT_MS = 1_000;

const Check = z.enum(['ok', 'failed']);
const Readiness = z
  .object({
    status: z.enum(['ok', 'failed']).meta({ description: '`ok` when every check is `ok`.' }),
    checks: z.object({
      postgresql: Check.meta({ description: 'PostgreSQL responds.' }),
      migrations: Check.meta({ description: 'The database has every migration of this release.' }),
      redis: Check.meta({ description: 'Redis responds.' }),
    }),
    reads: z
      .enum(['primary', 'standby'])
      .optional()
      .meta({ description: 'Server that answers reads that may be seconds old; only with `DATABASE_READ_URL`. It does not affect `status`.' }),
  })
  .meta({ id: 'Readiness', example: { status: 'ok', checks: { postgresql: 'ok', migrations: 'ok', redis: 'ok' } } });
type Readiness = z.output<typeof Readiness>;

/** Returns whether the work succeeds within the timeout. */
const succeeds = (work: Promise<unknown>): Promise<boolean> =>
  Promise.race([
    work.then(
      () => true,
      () => false,
    ),
    new Promise<boolean>((resolve) => setTimeout(resolve, CHECK_TIMEOUT_MS, false).unref()),
  ]);

/**
 * Checks PostgreSQL, the migrations and Redis concurrently, each with a timeout of one second. The result contains which checks failed, but not the
 * reasons.
 */
async function checkDependencies(app: App): Promise<Readiness> {
  let pending = true;
  const probe = probeOf(app);
  const [postgresql, redis] = await Promise.all([
    succeeds(
      probe.readMigrationState().then(({ missing }) => {
        pending = missing.length > 0;
      }),
    ),
    succeeds(probe.ping()),
  ]);
  const check = (isOk: boolean) => (isOk ? 'ok' : 'failed');
  return {
    status: check(postgresql && redis && !pending),
    checks: { postgresql: check(postgresql), migrations: check(postgresql && !pending), redis: check(redis) },
    ...(app.reads.lagMs() !== null && { reads: app.reads.usesStandby() ? 'standby' : 'primary' }),
  };
}

/** The check that is in flight; null when none is. Concurrent callers share one check. */
const inFlightCheck = perApp((): { check: Promise<Readiness> | null } => ({ check: null }));

/** Returns the result of the check in flight, or starts a check. Does not wait behind requests or jobs. */
function checkReadiness(app: App): Promise<Readiness> {
  const shared = app.state(inFlightCheck);
  shared.check ??= checkDependencies(app).finally(() => {
    shared.check = null;
  });
  return shared.check;
}

/** Reads the readiness checks as gauges for the metrics. */
const readiness: GaugeReader = {
  cacheMs: 5_000,
  gauges: { coinop_dependency_up: '1 when this process can use a dependency, otherwise 0: postgresql, migrations (all are applied), redis.' },
  async read(app) {
    const { checks } = await checkReadiness(app);
    return Object.entries(checks).map(([dependency, check]) => ({
      name: 'coinop_dependency_up',
      labels: { dependency },
      value: Number(check === 'ok'),
    }));
  },
};

/** Reads how far the standby is behind. */
const standby: GaugeReader = {
  cacheMs: 0,
  gauges: {
    coinop_standby_lag_seconds: 'Maximum age of the data of the standby of DATABASE_READ_URL. Increases while the standby is down.',
    coinop_standby_used: '1 while the standby answers reads that may be seconds old, otherwise 0.',
  },
  read({ reads }) {
    const lagMs = reads.lagMs();
    if (lagMs === null) return [];
    return [
      { name: 'coinop_standby_lag_seconds', value: lagMs / 1_000 },
      { name: 'coinop_standby_used', value: Number(reads.usesStandby()) },
    ];
  },
};

export const healthz = route({
  method: 'get',
  path: '/healthz',
  auth: 'public',
  load: 'none',
  summary: 'Returns whether the process is running',
  description: 'Checks no dependency.',
  returns: { 200: z.object({ status: z.literal('ok') }) },
  fails: [],
  handler: async () => reply(200, { status: 'ok' as const }),
});

export const readyz = route({
  method: 'get',
  path: '/readyz',
  auth: 'public',
  load: 'none',
  summary: 'Returns whether the process can handle requests',
  description: 'Responds within about one second even when a dependency hangs. 503 means that at least one check failed.',
  returns: { 200: Readiness, 503: Readiness },
  fails: [],
  async handler({ app }) {
    const readiness = await checkReadiness(app);
    return readiness.status === 'ok' ? reply(200, readiness) : reply(503, readiness, { 'Retry-After': '1' });
  },
});

/**
 * Starts the health server of an API or worker process: `/healthz`, `/readyz` and `/metrics`. It has no authentication.
 * @returns the port of the server, and a function that closes the server
 */
export async function startHealthServer(app: App): Promise<{ readonly port: number; close(): Promise<void> }> {
  const metrics = openMetrics(app, [readiness, standby]);
  const server = createServer((request, response) => {
    const send = (status: number, type: string, text: string) =>
      void response.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store' }).end(request.method === 'HEAD' ? '' : text);
    const json = (status: number, body: object) => send(status, 'application/json', JSON.stringify(body));
    answer().catch((err: unknown) => {
      app.log.error({ err }, 'a request to the health server failed; it is answered with 500');
      json(500, { error: 'internal server error' });
    });
    async function answer(): Promise<void> {
      const path = request.url?.split('?')[0];
      if (request.method !== 'GET' && request.method !== 'HEAD') return json(405, { error: 'the method must be GET' });
      if (path === '/healthz') return json(200, { status: 'ok' });
      if (path === '/metrics') return send(200, metrics.contentType, await metrics.text());
      if (path !== '/readyz') return json(404, { error: 'no such resource' });
      const readiness = await checkReadiness(app);
      json(readiness.status === 'ok' ? 200 : 503, readiness);
    }
  });
  const port = await listen(server, app.config.metrics);
  app.log.info({ host: app.config.metrics.host, port, paths: ['/healthz', '/readyz', '/metrics'] }, 'health server is ready');
  return {
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listen(server: Server, at: { host: string; port: number }): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(at.port, at.host, () => {
      const address = server.address();
      resolve(typeof address === 'object' && address ? address.port : at.port);
    });
  });
}
