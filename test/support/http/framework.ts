import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { createApp } from '#app';
import { readConfig } from '#config';
import { openContext } from '#context';
import type { App } from '#platform/app.ts';
import type { AnyRoute } from '#platform/http/route.ts';
import { createDatabase, testRedisUrl } from '../database.ts';
import { noteSuccesses } from './successes.ts';

/** Tokens that a kit accepts: one with every scope, one narrowed to content, one that may only import. */
export const TOKENS = { all: 'kit-admin-token-0123456789', content: 'kit-content-token-01234567', internal: 'kit-internal-token-0123456' };

/** An application that serves routes of the test's own, and no workers. */
export interface Kit {
  readonly app: App;
  readonly url: string;
  readonly port: number;
  /** The address that it believes to have. */
  readonly origin: string;
  close(): Promise<void>;
}

/**
 * Serves routes on a database and a Redis prefix of their own.
 * @param options.env further environment; with a DATABASE_URL no database is made
 */
export async function startKit(routes?: readonly AnyRoute[], options: { env?: Record<string, string> } = {}): Promise<Kit> {
  const database = options.env?.DATABASE_URL ? null : await createDatabase();
  const config = readConfig({
    NODE_ENV: 'test',
    DATABASE_URL: database?.url,
    REDIS_URL: testRedisUrl(),
    REDIS_PREFIX: `kit-${randomBytes(6).toString('hex')}`,
    ADMIN_TOKENS: `${TOKENS.all},editor:content:${TOKENS.content}`,
    INTERNAL_TOKENS: TOKENS.internal,
    PUBLIC_URL: 'http://coinop.test',
    ALLOWED_ORIGINS: 'https://friend.example',
    LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'silent',
    ...options.env,
  });
  const app = await openContext(config, 'kit');
  const server = createServer(createApp(app, routes).callback());
  if (!routes) noteSuccesses(server);
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
        const keys = await app.redis.keys(`*${config.redis.prefix}*`);
        if (keys.length > 0) await app.redis.unlink(...keys);
      }
      await app.close();
      await database?.drop();
    },
  };
}

/** Sends bytes as they are, for what no client would send; what comes back until the server closes, or `until` is seen. */
export function sendRaw(port: number, bytes: string | Buffer, until = /\r\n\r\n.*\}$/s): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let answer = '';
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1');
      if (until.test(answer)) socket.destroy();
    });
    socket.on('close', () => resolve(answer));
    socket.on('error', reject);
    socket.write(bytes);
  });
}

/** Asserts nothing: reads an answer's status and its JSON. */
export async function answerOf(response: Response): Promise<{ status: number; body: unknown }> {
  const text = await response.text();
  return { status: response.status, body: text === '' ? null : JSON.parse(text) };
}
