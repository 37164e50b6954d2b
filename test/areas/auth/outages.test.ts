import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Redis, startRedis } from '#dev/stack/redis.ts';
import { startApi } from '#test/support/api.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { requestNonce, send, signIn } from '#test/support/wallet.ts';

let t: TestApp;
let redis: Redis;
const folder = mkdtempSync(join(tmpdir(), 'coinop-auth-'));
beforeAll(async () => {
  redis = await startRedis({ folder, durable: false });
  t = await startTestApp({ workers: false, productionTimeouts: true, env: { REDIS_URL: redis.url } });
});
afterAll(async () => {
  await t.close();
  await redis.stop();
  rmSync(folder, { recursive: true });
});

/** Repeats a request until the response has this status. */
async function until(status: number, ask: () => Promise<Response>): Promise<Response> {
  for (;;) {
    const response = await ask();
    if (response.status === status) return response;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test('a sign-in works without Redis', async () => {
  const api = await startApi({ ...t.env, REDIS_URL: 'unix:///nowhere/redis.sock' }, t.clock);
  try {
    await requestNonce(api);
    const me = await signIn(api);
    expect((await me.fetch('/me')).status).toBe(503);
    expect((await send(t, '/me', { headers: { Cookie: me.cookie } })).status).toBe(200);
  } finally {
    await api.close();
  }
});

test('without Redis, sessions give 503 within a second and stay valid', async () => {
  const me = await signIn(t);
  expect((await me.fetch('/me')).status).toBe(200);
  await redis.kill();
  for (const path of ['/me', '/auth/logout']) {
    const started = performance.now();
    const response = await me.fetch(path, path === '/me' ? {} : { method: 'POST' });
    expect(response.status).toBe(503);
    expect(response.headers.get('Retry-After')).toMatch(/^\d+$/);
    expect(performance.now() - started).toBeLessThan(5_000);
  }
  // Endpoints without a session still work.
  expect((await send(t, '/auth/nonce', { method: 'POST' })).status).toBe(200);
  expect((await send(t, '/me')).status).toBe(401);
  await redis.restart({ empty: true });
  await until(200, () => me.fetch('/me'));
});

test('a hanging Redis gives 503 within seconds', async () => {
  const me = await signIn(t);
  expect((await me.fetch('/me')).status).toBe(200);
  process.kill(redis.pid, 'SIGSTOP');
  try {
    const started = performance.now();
    expect((await me.fetch('/me')).status).toBe(503);
    // A command may wait for the previous one, which also has a timeout of a second.
    expect(performance.now() - started).toBeLessThan(8_000);
  } finally {
    process.kill(redis.pid, 'SIGCONT');
  }
  await until(200, () => me.fetch('/me'));
});

test('while the database is down, cached sessions can be read, even when they are due for an extension', async () => {
  const me = await signIn(t);
  const unread = await signIn(t);
  expect((await me.fetch('/me')).status).toBe(200);
  const silent = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as AddressInfo;
  const api = await startApi({ ...t.env, DATABASE_URL: `postgresql://127.0.0.1:${port}/none` }, t.clock);
  try {
    expect((await send(api, '/me', { headers: { Cookie: me.cookie } })).status).toBe(200);
    expect((await send(api, '/me', { headers: { Cookie: unread.cookie } })).status).toBe(503);
    await t.clock.set(new Date(t.clock.now().getTime() + 61_000));
    const response = await send(api, '/me', { headers: { Cookie: me.cookie } });
    expect({ status: response.status, cookies: response.headers.getSetCookie() }).toEqual({ status: 200, cookies: [] });
    // The sign-out first writes a mark to Redis, so the session is refused although the response is 503. A repeated sign-out also gives 503,
    // because Redis may lose the mark.
    for (let times = 0; times < 2; times++) {
      expect((await send(api, '/auth/logout', { method: 'POST', headers: { Cookie: me.cookie } })).status).toBe(503);
    }
    expect((await me.fetch('/me')).status).toBe(401);
  } finally {
    await api.close();
    silent.close();
  }
});
