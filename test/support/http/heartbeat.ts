import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { WebSocket } from 'ws';
import { createApp } from '#app';
import { attachVerification } from '#areas/arcade';
import type { Timing } from '#areas/arcade/play-session.ts';
import { readConfig } from '#config';
import { openContext } from '#context';
import type { App } from '#platform/app.ts';

/** The times of a session, so short that tests can wait for them. */
export const FAST: Timing = { silenceMs: 700, toleranceMs: 100, minBeatMs: 40, aliveMs: 400, refreshMs: 100 };

/** How often a client beats that plays on. */
const BEAT_MS = 200;

/** One more API of a test application: what another process would be. */
export interface TestApi {
  readonly app: App;
  readonly url: string;
  /** What SIGTERM does: says goodbye and closes the sessions. */
  stop(): Promise<void>;
  /** What SIGKILL does: is gone, and has told nobody. */
  kill(): void;
  close(): Promise<void>;
}

/** Starts an API with sessions of its own timing. */
export async function startApi(env: Readonly<Record<string, string>>, timing: Timing = FAST): Promise<TestApi> {
  const app = await openContext(readConfig(env), 'test-api');
  if (app.redis.status !== 'ready') await once(app.redis, 'ready');
  const koa = createApp(app);
  const server = createServer(koa.callback());
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  const verification = attachVerification(server, app, koa, timing);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    app,
    url: `http://127.0.0.1:${port}`,
    stop: () => verification.close(),
    kill() {
      app.redis.disconnect();
      for (const socket of sockets) socket.destroy();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await verification.close();
      // A connection that ended is opened again, because ioredis waits two seconds when one is closed twice.
      if (app.redis.status === 'end') await app.redis.connect();
      await app.close();
    },
  };
}

/** What a session's socket is opened with. */
export interface SessionAsk {
  game?: string;
  playId: string;
  cookie?: string;
  headers?: Record<string, string>;
}

const address = (url: string, { game = 'star-raiders', playId }: SessionAsk) =>
  `${url.replace(/^http/, 'ws')}/game/${game}/session${playId === '' ? '' : `?playId=${playId}`}`;
const dial = (url: string, ask: SessionAsk) =>
  new WebSocket(address(url, ask), { headers: { ...(ask.cookie ? { Cookie: ask.cookie } : {}), ...ask.headers } });

/** A client's end of a session. */
export class SessionClient {
  readonly socket: WebSocket;
  /** Code and reason of the close. */
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

  /** Opens a session; fails when it is refused. */
  static async open(url: string, ask: SessionAsk): Promise<SessionClient> {
    const socket = dial(url, ask);
    const client = new SessionClient(socket);
    await new Promise((resolve, reject) => {
      socket.once('open', resolve);
      socket.once('unexpected-response', (_request, response) => reject(new Error(`refused with ${response.statusCode}`)));
      socket.once('error', reject);
    });
    return client;
  }

  send(message: unknown = { type: 'heartbeat' }): void {
    this.socket.send(typeof message === 'string' || Buffer.isBuffer(message) ? message : JSON.stringify(message));
  }

  /** Sends a heartbeat and returns its answer. */
  async beat(): Promise<{ type?: string; beats: number; at: string }> {
    const answered = this.answer();
    this.send();
    return await answered;
  }

  /** The next answer. */
  async answer(): Promise<{ beats: number; at: string }> {
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

  /** Sends heartbeats for a while. */
  async play(ms: number): Promise<void> {
    const until = performance.now() + ms;
    while (performance.now() < until) {
      await pause(BEAT_MS);
      await this.beat();
    }
  }

  async leave(): Promise<void> {
    this.socket.close();
    await this.closed;
  }
}

/** The status and the body of a refused upgrade. */
export async function refusalOf(url: string, ask: SessionAsk): Promise<{ status: number | undefined; type: string | undefined; body: unknown }> {
  const socket = dial(url, ask);
  socket.on('error', () => undefined);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    socket.once('unexpected-response', (_request, message) => resolve(message));
    socket.once('open', () => {
      socket.terminate();
      reject(new Error('the upgrade was not refused'));
    });
  });
  const chunks = [];
  for await (const chunk of response) chunks.push(chunk);
  return { status: response.statusCode, type: response.headers['content-type'], body: JSON.parse(Buffer.concat(chunks).toString()) };
}

/** Time that really has to pass, such as a silence. */
export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
