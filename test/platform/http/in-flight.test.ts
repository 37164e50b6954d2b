import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { routes as allRoutes } from '#areas/index.ts';
import { type AnyRoute, errorStatusesOf, reply, route, stream } from '#platform/http/route.ts';
import { readResponse, startTestServer, type TestServer, TOKENS } from '#test/support/http/framework.ts';

/** Handlers that have started, in order, and wait until the test releases them. */
let held: { caller: string; release: () => void }[] = [];
const hold = (caller: string) => new Promise<void>((release) => void held.push({ caller, release }));
const until = async (holds: () => boolean) => {
  while (!holds()) await sleep(2);
};

const Done = z.object({ done: z.literal(true) });
const done = () => reply(200, { done: true as const });
const admin = { admin: 'content' } as const;
const common = { summary: 'Waits', returns: { 200: Done }, fails: [] } as const;
const write = route({
  ...common,
  method: 'post',
  path: '/write',
  auth: admin,
  body: z.strictObject({ text: z.string().optional() }),
  handler: async ({ admin }) => {
    await hold(admin);
    return done();
  },
});
const read = route({
  ...common,
  method: 'get',
  path: '/read',
  auth: 'public',
  handler: async () => {
    await hold('anyone');
    return done();
  },
});
const free = route({ ...common, method: 'get', path: '/free', auth: admin, load: 'none', handler: async () => done() });
const file = route({
  ...common,
  method: 'get',
  path: '/file',
  auth: admin,
  load: 'costly',
  returns: { 200: stream('text/plain') },
  handler: async ({ admin }) => {
    const lines = async function* () {
      yield 'first';
      await hold(admin);
      yield 'last';
    };
    return reply(200, Readable.from(lines()));
  },
});

const large = route({
  ...common,
  method: 'get',
  path: '/large',
  auth: admin,
  load: 'costly',
  returns: { 200: stream('text/plain') },
  handler: async () => {
    const lines = async function* () {
      for (;;) yield 'x'.repeat(100_000);
    };
    return reply(200, Readable.from(lines()));
  },
});

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer([write, read, free, file, large], { env: { DATABASE_POOL: '10' } });
});
afterAll(() => server.close());
afterEach(() => {
  held = [];
});

const bearer = (token: string) => ({ Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' });
const post = (token: string, init: RequestInit = {}) => fetch(`${server.url}/write`, { method: 'POST', headers: bearer(token), body: '{}', ...init });
const get = (path: string, token?: string) => fetch(server.url + path, token === undefined ? {} : { headers: bearer(token) });
const many = <T>(n: number, send: () => Promise<T>) => Array.from({ length: n }, send);
/** Releases handlers until the requests have ended. */
async function releaseUntil<T>(requests: readonly Promise<T>[]): Promise<T[]> {
  const timer = setInterval(() => {
    for (const { release } of held.splice(0)) release();
  }, 1);
  return await Promise.all(requests).finally(() => clearInterval(timer));
}

test('a caller runs three writes at once and has 48 in flight; further ones get a 429 with RateLimit headers, and other callers are not delayed', async () => {
  const began = performance.now();
  let refusals: Response[] = [];
  const sent = many(60, async () => {
    const response = await post(TOKENS.all);
    if (response.status === 429) refusals = [...refusals, response];
    return response.status;
  });
  await until(() => refusals.length === 12);
  expect(performance.now() - began).toBeGreaterThan(950);
  expect(held.map(({ caller }) => caller)).toEqual(['admin-1', 'admin-1', 'admin-1']);
  const [refusal] = refusals;
  if (!refusal) throw new Error('no request was refused');
  expect(Object.fromEntries(['Retry-After', 'RateLimit', 'RateLimit-Policy'].map((name) => [name, refusal.headers.get(name)]))).toEqual({
    'Retry-After': '1',
    RateLimit: '"in-flight-write";r=0;t=1',
    'RateLimit-Policy': '"in-flight-write";q=48;qu="concurrent-requests"',
  });
  expect(await readResponse(refusal)).toEqual({
    status: 429,
    body: { error: 'a caller may have at most 48 requests of this kind in flight, try again later' },
  });
  const other = post(TOKENS.content);
  await until(() => held.length === 4);
  expect(held[3]?.caller).toBe('editor');
  const statuses = await releaseUntil([...sent, other.then(({ status }) => status)]);
  expect(statuses.toSorted()).toEqual([...many(49, async () => 0).map(() => 200), ...many(12, async () => 0).map(() => 429)]);
});

test('a route without a load bound is served while the caller has too many writes in flight', async () => {
  const sent = many(48, () => post(TOKENS.all));
  await until(() => held.length === 3);
  expect((await get('/free', TOKENS.all)).status).toBe(200);
  await releaseUntil(sent);
});

test('the waiting requests of clients that disconnect make room for other requests', async () => {
  const running = many(3, () => post(TOKENS.all));
  await until(() => held.length === 3);
  const gone = new AbortController();
  const aborted = many(45, () => post(TOKENS.all, { signal: gone.signal }).catch(() => null));
  await sleep(50);
  gone.abort();
  await Promise.all(aborted);
  await sleep(20);
  const more = many(45, () => post(TOKENS.all));
  const statuses = (await releaseUntil([...running, ...more])).map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([200]));
});

test('a request whose body has not arrived does not delay the caller’s other requests', async () => {
  const slow = many(5, () => {
    const body = ReadableStream.from(
      (async function* () {
        yield Buffer.from('{');
        await sleep(150);
        yield Buffer.from('}');
      })(),
    );
    return post(TOKENS.all, { body, duplex: 'half' } as RequestInit);
  });
  await sleep(30);
  const quick = post(TOKENS.all);
  await until(() => held.length === 1);
  const statuses = (await releaseUntil([quick, ...slow])).map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([200]));
});

test('callers without credentials share bounds that are wider than those of one caller', async () => {
  const sent = many(50, () => get('/read'));
  await until(() => held.length === 40);
  await sleep(20);
  expect(held).toHaveLength(40);
  await releaseUntil(sent);
});

test('a download of a costly route counts until its response has ended', async () => {
  const first = [await get('/file', TOKENS.all), await get('/file', TOKENS.all)];
  await until(() => held.length === 2);
  const third = get('/file', TOKENS.all);
  await sleep(30);
  expect(held).toHaveLength(2);
  for (const { release } of held.splice(0)) release();
  expect(await Promise.all(first.map((response) => response.text()))).toEqual(['firstlast', 'firstlast']);
  const response = await third;
  await until(() => held.length === 1);
  held[0]?.release();
  expect(await response.text()).toBe('firstlast');
});

test('downloads whose clients do not read them stop counting, so that they delay no other download for long', async () => {
  const idle = await Promise.all(many(2, () => get('/large', TOKENS.all)));
  const began = performance.now();
  const third = await get('/file', TOKENS.all);
  expect(performance.now() - began).toBeLessThan(4_000);
  await until(() => held.length === 1);
  held[0]?.release();
  expect(await third.text()).toBe('firstlast');
  for (const response of idle) await response.body?.cancel();
});

test('every route that has bounds declares 429, and only health checks, event streams and webhooks have none', () => {
  const routes: readonly AnyRoute[] = Object.values(allRoutes).flat();
  const without = routes.filter((one) => one.load === 'none').map(({ path }) => path);
  expect(without).toEqual(['/healthz', '/readyz', '/events']);
  expect(routes.filter((one) => !errorStatusesOf(one).includes(429)).map(({ path }) => path)).toEqual(['/healthz', '/readyz']);
});
