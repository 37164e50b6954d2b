import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createApp } from '#app';
import { readConfig } from '#config';
import { openContext } from '#context';
import type { Clock } from '#lib/clock.ts';
import type { App } from '#platform/app.ts';
import { drainStreams } from '#platform/events/sse.ts';
import { recordSuccesses } from './http/successes.ts';

/**
 * Starts a second API of a test application in this process, with its own context and server.
 * Returns when its Redis connection is ready, or after a second.
 */
export async function startApi(env: Readonly<Record<string, string>>, clock?: Clock): Promise<{ app: App; url: string; close(): Promise<void> }> {
  const app = await openContext(readConfig({ ...env }), 'test-api', clock ? { clock } : {});
  const server = createServer(createApp(app).callback());
  recordSuccesses(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  if (app.redis.status !== 'ready') await once(app.redis, 'ready', { signal: AbortSignal.timeout(1_000) }).catch(() => undefined);
  const { port } = server.address() as AddressInfo;
  return {
    app,
    url: `http://127.0.0.1:${port}`,
    async close() {
      await drainStreams(app);
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      await app.close();
    },
  };
}
