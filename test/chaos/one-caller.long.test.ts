import { Agent, request } from 'node:http';
import { createServer, type Server } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { type ServiceProcess, startServiceProcess } from '#test/support/service-process.ts';
import { type SignedIn, signIn } from '#test/support/wallet.ts';

/** Connections of the hostile caller, and the duration of each of its floods, ms. */
const CONNECTIONS = 300;
const FLOOD_MS = 6_000;
const STATE = '/game/star-raiders/state';

let t: TestApp;
let api: ServiceProcess;
let at: { readonly url: string };
let port: number;
/** An RPC node that accepts connections and never answers. */
let silent: Server;
let hostile: SignedIn;
let polite: SignedIn;

beforeAll(async () => {
  silent = createServer((socket) => void socket.on('error', () => undefined));
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const address = silent.address();
  const rpcPort = typeof address === 'object' && address ? address.port : 0;
  t = await startTestApp();
  api = startServiceProcess('src/server.ts', { ...t.env, SOLANA_RPC_URL: `http://127.0.0.1:${rpcPort}` });
  const ready = await api.logged('api is ready');
  port = Number((ready.address as { port: number }).port);
  at = { url: `http://127.0.0.1:${port}` };
  [hostile, polite] = [await signIn(at), await signIn(at)];
}, 60_000);
afterAll(async () => {
  await api.stop();
  await t.close();
  silent.close();
});

interface Flood {
  readonly method: string;
  readonly path: string | (() => string);
  readonly body?: string | (() => string);
  readonly type?: string;
  /** Whether the requests never send the rest of their bodies. */
  readonly stalls?: boolean;
  readonly anonymous?: boolean;
  /** Whether the route has a rate limit of its own, whose responses are not delayed. */
  readonly hasRateLimit?: boolean;
}

/** Sends requests over many connections, each as soon as its last one has ended. @returns the number of responses by status */
async function flood({ method, path, body: bodyOf = '', type = 'application/json', stalls = false, anonymous = false }: Flood, ms: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const statuses: Record<string, number> = {};
  const end = performance.now() + ms;
  const one = () =>
    new Promise<void>((resolve) => {
      const body = typeof bodyOf === 'string' ? bodyOf : bodyOf();
      const headers = {
        'Content-Type': type,
        ...(anonymous ? {} : { Cookie: hostile.cookie }),
        'Content-Length': body.length + (stalls ? 1_000 : 0),
      };
      const sent = request({ agent, port, host: '127.0.0.1', method, path: typeof path === 'string' ? path : path(), headers }, (response) => {
        statuses[response.statusCode ?? 0] = (statuses[response.statusCode ?? 0] ?? 0) + 1;
        response.resume().on('close', resolve);
      });
      sent.on('error', () => resolve());
      setTimeout(() => sent.destroy(), Math.max(1, end - performance.now())).unref();
      if (stalls) sent.write(body);
      else sent.end(body);
    });
  const loop = async () => {
    while (performance.now() < end) await one();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, loop));
  agent.destroy();
  return statuses;
}

/** Sends requests of another caller and readiness checks until `done` resolves. */
async function others(done: Promise<unknown>) {
  let isDone = false;
  const end = () => {
    isDone = true;
  };
  done.then(end, end);
  const answers: { what: string; status: number; ms: number }[] = [];
  const measure = async (what: string, send: () => Promise<Response>) => {
    const began = performance.now();
    const response = await send();
    await response.arrayBuffer();
    answers.push({ what, status: response.status, ms: performance.now() - began });
  };
  const check = async () => {
    const began = performance.now();
    const { status } = await api.readiness();
    answers.push({ what: 'readyz', status, ms: performance.now() - began });
  };
  while (!isDone) {
    await measure('read', () => polite.fetch('/leaderboard/global/rank'));
    await measure('save', () => polite.fetch(STATE, { method: 'PUT', json: { saved: answers.length } }));
    await measure('look-up', () => polite.fetch('/api/wallet/resolve', { json: { identifier: polite.wallet } }));
    await measure('list', () => polite.fetch('/me/scores'));
    await Promise.all([
      check(),
      measure('public readyz', () => fetch(`${at.url}/readyz`)),
      measure('anonymous', () => fetch(`${at.url}/config/games`)),
    ]);
  }
  return answers;
}

const state = JSON.stringify({ text: 'x'.repeat(30_000) });
let names = 0;
test.each<[string, Flood]>([
  ['reads', { method: 'GET', path: '/me/scores?limit=500' }],
  ['saves of one state', { method: 'PUT', path: STATE, body: state }],
  ['records of one chain', { method: 'POST', path: '/game/star-raiders/record', body: '{"a":1}', hasRateLimit: true }],
  ['scores', { method: 'POST', path: '/arcade/score', body: '{"gameId":"star-raiders","score":1}' }],
  [
    'look-ups of random names',
    {
      method: 'POST',
      path: '/api/wallet/resolve',
      body: () => `{"identifier":"n${names++}.sol"}`,
    },
  ],
  [
    'look-ups without a session',
    {
      method: 'POST',
      path: '/api/wallet/resolve',
      anonymous: true,
      body: () => `{"identifier":"a${names++}.sol"}`,
    },
  ],
  ['uploads that stall', { method: 'POST', path: '/clip/upload', body: '--b\r\n', type: 'multipart/form-data; boundary=b', stalls: true }],
  ['bodies that stall', { method: 'POST', path: '/api/referral/bind', body: '{', stalls: true }],
  ['event streams', { method: 'GET', path: '/events' }],
])(
  'while one caller floods the service with %s, other callers are served and the process stays ready',
  async (name, kind) => {
    const flooding = flood(kind, FLOOD_MS);
    const answers = await others(flooding);
    const statuses = await flooding;
    const slowest = answers.map(({ ms }) => ms).sort((a, b) => a - b);
    process.stdout.write(
      `${name}: the hostile caller got ${JSON.stringify(statuses)}; ${answers.length} requests of others, ` +
        `median ${slowest[slowest.length >> 1]?.toFixed(1)} ms, slowest ${slowest.at(-1)?.toFixed(1)} ms\n`,
    );
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    expect(answers.length).toBeGreaterThan(5);
    // Requests that are refused because of those in flight are answered slowly, so that they cost little.
    if (!('hasRateLimit' in kind)) expect(statuses['429'] ?? 0).toBeLessThan((CONNECTIONS * FLOOD_MS) / 500);
  },
  60_000,
);
