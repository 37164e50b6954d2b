import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { createApp } from '#app';
import { readConfig } from '#config';
import { openContext } from '#context';
import type { App } from '#platform/app.ts';
import type { AnyRoute } from '#platform/http/route.ts';
import { createDatabase, testRedisUrl } from '../database.ts';
import { deleteKeys } from '../redis-keys.ts';
import { recordSuccesses } from './successes.ts';

/** Tokens of a test server: an admin token with every scope, one with the scope content, and an internal token. */
export const TOKENS = { all: 'test-admin-token-0123456789', content: 'test-content-token-01234567', internal: 'test-internal-token-0123456' };

/** An API process without workers that serves the routes of a test. */
export interface TestServer {
  readonly app: App;
  readonly url: string;
  readonly port: number;
  /** The configured public origin. It differs from `url`. */
  readonly origin: string;
  close(): Promise<void>;
}

/**
 * Starts a server with its own database and Redis prefix.
 * @param routes routes to serve; all routes of the service by default
 * @param options.env further environment variables; with a DATABASE_URL no database is created
 */
export async function startTestServer(routes?: readonly AnyRoute[], options: { env?: Record<string, string> } = {}): Promise<TestServer> {
  const database = options.env?.DATABASE_URL ? null : await createDatabase();
  const config = readConfig({
    NODE_ENV: 'test',
    DATABASE_URL: database?.serviceUrl,
    REDIS_URL: testRedisUrl(),
    REDIS_PREFIX: `test-${randomBytes(6).toString('hex')}`,
    ADMIN_TOKENS: `${TOKENS.all},editor:content:${TOKENS.content}`,
    INTERNAL_TOKENS: TOKENS.internal,
    PUBLIC_URL: 'http://coinop.test',
    ALLOWED_ORIGINS: 'https://friend.example',
    LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'silent',
    ...options.env,
  });
  const app = await openContext(config, 'test-api');
  const server = createServer(createApp(app, routes).callback());
  if (!routes) recordSuccesses(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return {
    app,
    url: `http://127.0.0.1:${port}`,
    port,
    origin: config.publicUrl.origin,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      if (app.redis.status === 'ready') {
        await deleteKeys(app.redis, `*${config.redis.prefix}*`);
      }
      await app.close();
      await database?.drop();
    },
  };
}

/** Sends raw bytes over TCP and returns the response, read until the server closes the connection or the response matches `until`. */
export function sendRaw(port: number, bytes: string | Buffer, until = /\r\n\r\n.*\}$/s): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let response = '';
    socket.on('data', (chunk) => {
      response += chunk.toString('latin1');
      if (until.test(response)) socket.destroy();
    });
    socket.on('close', () => resolve(response));
    socket.on('error', reject);
    socket.write(bytes);
  });
}

/** Returns the status and the JSON body of a response; null for an empty body. */
export async function readResponse(response: Response): Promise<{ status: number; body: unknown }> {
  const text = await response.text();
  return { status: response.status, body: text === '' ? null : JSON.parse(text) };
}
