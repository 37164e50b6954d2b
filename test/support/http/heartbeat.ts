import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { WebSocket } from 'ws';
import { createApp } from '#app';
import { attachSessionServer } from '#areas/arcade';
import type { SessionTiming } from '#areas/arcade/plays/play-session.ts';
import { readConfig } from '#config';
import { openContext } from '#context';
import type { App } from '#platform/app.ts';

/** Short times of a session for tests. */
export const FAST_TIMING: SessionTiming = { silenceMs: 700, toleranceMs: 100, minIntervalMs: 40, aliveMs: 400, refreshMs: 100 };

/** Interval between two heartbeats of `play`, ms. */
const HEARTBEAT_INTERVAL_MS = 200;

/** A further API of a test application, like another process. */
export interface TestApi {
  readonly app: App;
  readonly url: string;
  /** Records the end of the sessions and closes them, like SIGTERM. */
  stop(): Promise<void>;
  /** Destroys all connections without recording an end, like SIGKILL. */
  kill(): void;
  close(): Promise<void>;
}

/** Starts an API with the given times of sessions. */
export async function startApi(env: Readonly<Record<string, string>>, timing: SessionTiming = FAST_TIMING): Promise<TestApi> {
  const app = await openContext(readConfig(env), 'test-api');
  if (app.redis.status !== 'ready') await once(app.redis, 'ready');
  const koa = createApp(app);
  const server = createServer(koa.callback());
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  const sessionServer = attachSessionServer(server, app, koa, timing);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    app,
    url: `http://127.0.0.1:${port}`,
    stop: () => sessionServer.close(),
    kill() {
      app.redis.disconnect();
      for (const socket of sockets) socket.destroy();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await sessionServer.close();
      // Connects again first, because ioredis waits two seconds when an ended connection is closed.
      if (app.redis.status === 'end') await app.redis.connect();
      await app.close();
    },
  };
}

/** Parameters of a session's WebSocket. */
export interface SessionOptions {
  game?: string;
  playId: string;
  cookie?: string;
  ticket?: string;
  headers?: Record<string, string>;
}

const sessionUrl = (url: string, { game = 'star-raiders', playId, ticket }: SessionOptions) =>
  `${url.replace(/^http/, 'ws')}/game/${game}/session${playId === '' ? '' : `?playId=${playId}`}${ticket === undefined ? '' : `&ticket=${ticket}`}`;
const connect = (url: string, options: SessionOptions) =>
  new WebSocket(sessionUrl(url, options), { headers: { ...(options.cookie ? { Cookie: options.cookie } : {}), ...options.headers } });

/** The client side of a session. */
export class SessionClient {
  readonly socket: WebSocket;
  /** Resolves with the close code and reason. */
  readonly closed: Promise<{ code: number; reason: string }>;
  readonly #acks: { beats: number; at: string }[] = [];
  #wake: () => void = () => undefined;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    this.closed = once(socket, 'close').then(([code, reason]) => {
      this.#wake();
      return { code, reason: String(reason) };
    });
    socket.on('error', () => undefined);
    socket.on('message', (data) => {
      this.#acks.push(JSON.parse(String(data)));
      this.#wake();
    });
  }

  /** Opens a session. @throws when the upgrade is refused */
  static async open(url: string, options: SessionOptions): Promise<SessionClient> {
    const socket = connect(url, options);
    const client = new SessionClient(socket);
    await new Promise((resolve, reject) => {
      socket.once('open', resolve);
      socket.once('unexpected-response', (_request, response) => reject(new Error(`the upgrade was rejected with ${response.statusCode}`)));
      socket.once('error', reject);
    });
    return client;
  }

  send(message: unknown = { type: 'heartbeat' }): void {
    this.socket.send(typeof message === 'string' || Buffer.isBuffer(message) ? message : JSON.stringify(message));
  }

  /** Sends a heartbeat and returns its reply. */
  async sendHeartbeat(): Promise<{ type?: string; beats: number; at: string }> {
    const answered = this.nextReply();
    this.send();
    return await answered;
  }

  /** Waits for the next reply to a heartbeat. */
  async nextReply(): Promise<{ beats: number; at: string }> {
    let ack = this.#acks.shift();
    while (!ack) {
      if (this.socket.readyState === WebSocket.CLOSED) throw new Error('the session is closed');
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      ack = this.#acks.shift();
    }
    return ack;
  }

  /** Sends heartbeats for `ms` milliseconds. */
  async play(ms: number): Promise<void> {
    const until = performance.now() + ms;
    while (performance.now() < until) {
      await realDelay(HEARTBEAT_INTERVAL_MS);
      await this.sendHeartbeat();
    }
  }

  async leave(): Promise<void> {
    this.socket.close();
    await this.closed;
  }
}

/** Returns status and body of a refused upgrade. */
export async function failedUpgrade(
  url: string,
  options: SessionOptions,
): Promise<{ status: number | undefined; type: string | undefined; body: unknown }> {
  const socket = connect(url, options);
  socket.on('error', () => undefined);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    socket.once('unexpected-response', (_request, message) => resolve(message));
    socket.once('open', () => {
      socket.terminate();
      reject(new Error('the upgrade was not rejected'));
    });
  });
  const chunks = [];
  for await (const chunk of response) chunks.push(chunk);
  return { status: response.statusCode, type: response.headers['content-type'], body: JSON.parse(Buffer.concat(chunks).toString()) };
}

/** Waits in real time, for example to create a silence. */
export const realDelay = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
