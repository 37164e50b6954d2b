import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { PlayReceipt } from '#areas/arcade/schemas.ts';
import { OwnSession } from '#areas/auth/schemas.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { allowLivePlays } from '#test/support/areas/arcade.ts';
import { asAdmin } from '#test/support/areas/quests.ts';
import { testRedisSocket } from '#test/support/database.ts';
import { FAST_TIMING, SessionClient, startApi, type TestApi } from '#test/support/http/heartbeat.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { openEvents, type SseClient } from '#test/support/http/sse.ts';
import { openTcpProxy } from '#test/support/servers/tcp-proxy.ts';
import { createWallet, type SignedIn, send, signIn, type TestWallet } from '#test/support/wallet.ts';

/** Maximum time between the end of a session and the end of its connections, ms. */
const END_MS = 1_000;
const DAY_MS = 86_400_000;
/** No socket is closed for its silence during a test. */
const TIMING = { ...FAST_TIMING, silenceMs: 60_000 };

let t: TestApp;
let other: TestApi;
const streams: SseClient[] = [];
const sockets: SessionClient[] = [];
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  await allowLivePlays(t, 'star-raiders');
  other = await startApi(t.env, TIMING);
});
afterEach(() => {
  for (const stream of streams.splice(0)) stream.close();
  for (const socket of sockets.splice(0)) socket.socket.terminate();
});
afterAll(async () => {
  await other.close();
  await t.close();
});

interface Connections {
  readonly streams: readonly SseClient[];
  readonly sockets: readonly SessionClient[];
}

/** Opens a stream and a WebSocket of a session in each process. */
async function connectTo(me: SignedIn, processes: readonly { url: string }[] = [t, other]): Promise<Connections> {
  const opened = await Promise.all(processes.map((at) => openEvents(at, { cookie: me.cookie })));
  streams.push(...opened);
  for (const stream of opened) await stream.until('the stream', () => stream.lastEventId !== '');
  const joined = await Promise.all(
    processes.map(async ({ url }) => {
      const { playId } = await jsonOf(me.fetch('/game/star-raiders/play', { method: 'POST' }), PlayReceipt);
      return await SessionClient.open(url, { playId, cookie: me.cookie });
    }),
  );
  sockets.push(...joined);
  return { streams: opened, sockets: joined };
}

/** Returns the time until all connections have ended, ms. */
async function timeToEnd({ streams: open, sockets: joined }: Connections, since: number): Promise<number> {
  await Promise.all(open.map(({ ended }) => ended));
  const codes = await Promise.all(joined.map(({ closed }) => closed.then(({ code }) => code)));
  expect(new Set(codes)).toEqual(new Set([4003]));
  return performance.now() - since;
}

const isOpen = ({ streams: open, sockets: joined }: Connections) =>
  open.every((stream) => stream.isOpen) && joined.every(({ socket }) => socket.readyState === socket.OPEN);

/** Signs a wallet in twice and opens connections of both sessions. */
async function connectTwice(wallet: TestWallet = createWallet()) {
  const [phone, laptop] = [await signIn(t, wallet), await signIn(t, wallet)];
  return { phone, laptop, ofPhone: await connectTo(phone), ofLaptop: await connectTo(laptop) };
}

test('a sign-out ends the streams and sockets of the session in every process within a second, and those of no other session', async () => {
  const { phone, ofPhone, ofLaptop } = await connectTwice();
  const stranger = await connectTo(await signIn(t));
  const since = performance.now();
  expect((await send(other, '/auth/logout', { method: 'POST', headers: { Cookie: phone.cookie } })).status).toBe(200);
  expect(await timeToEnd(ofPhone, since)).toBeLessThan(END_MS);
  expect([isOpen(ofLaptop), isOpen(stranger)]).toEqual([true, true]);
});

test('a ban ends the streams and sockets of all sessions of the wallet within a second', async () => {
  const { phone, ofPhone, ofLaptop } = await connectTwice();
  const since = performance.now();
  expect((await asAdmin(t, `/admin/wallets/${phone.wallet}/ban`, { json: { reason: 'tests' } })).status).toBe(200);
  expect(await timeToEnd(ofPhone, since)).toBeLessThan(END_MS);
  expect(await timeToEnd(ofLaptop, since)).toBeLessThan(END_MS);
});

test('a sign-in that replaces a session ends the streams and sockets of the replaced session', async () => {
  const me = await signIn(t);
  const opened = await connectTo(me);
  const since = performance.now();
  await signIn(other, createWallet(), { headers: { Cookie: me.cookie } });
  expect(await timeToEnd(opened, since)).toBeLessThan(END_MS);
});

test('the streams and sockets of an expired session end within a second, and those of an extended session stay open', async () => {
  const [lazy, active] = [await signIn(t), await signIn(t)];
  const [ofLazy, ofActive] = [await connectTo(lazy, [t]), await connectTo(active, [t])];
  const start = t.clock.now().getTime();
  await t.clock.set(new Date(start + 6 * DAY_MS));
  expect((await active.fetch('/me')).status).toBe(200);
  const since = performance.now();
  await t.clock.set(new Date(start + 7 * DAY_MS + 60_000));
  expect(await timeToEnd(ofLazy, since)).toBeLessThan(END_MS);
  expect(isOpen(ofActive)).toBe(true);
  await t.clock.set(new Date());
});

test('GET /me/sessions lists the sessions of the wallet, and DELETE /me/sessions/{id} ends one of them with its streams and sockets', async () => {
  const { phone, laptop, ofPhone, ofLaptop } = await connectTwice();
  const stranger = await signIn(t);
  const list = async (me: SignedIn) => jsonOf(me.fetch('/me/sessions'), z.array(OwnSession));
  const listed = await list(laptop);
  expect(listed.map(({ current }) => current)).toEqual([true, false]);
  expect((await laptop.fetch('/me/sessions')).headers.get('X-Total-Count')).toBe('2');
  expect(await jsonOf(laptop.fetch('/me/sessions?limit=1&offset=1'), z.array(OwnSession))).toEqual(listed.slice(1));
  const id = listed[1]?.id ?? '';
  expect(phone.cookie).not.toContain(id);

  const remove = (me: SignedIn, which: string) => me.fetch(`/me/sessions/${which}`, { method: 'DELETE' });
  for (const which of [id.toUpperCase(), 'x', '0'.repeat(64)]) expect((await remove(laptop, which)).status).toBe(404);
  expect((await remove(stranger, id)).status).toBe(404);
  expect([isOpen(ofPhone), isOpen(ofLaptop)]).toEqual([true, true]);

  const since = performance.now();
  expect((await remove(laptop, id)).status).toBe(204);
  expect(await timeToEnd(ofPhone, since)).toBeLessThan(END_MS);
  expect(isOpen(ofLaptop)).toBe(true);
  expect((await phone.fetch('/me')).status).toBe(401);
  expect((await remove(laptop, id)).status).toBe(404);
  expect(await list(laptop)).toEqual([listed[0]]);

  const own = await remove(laptop, listed[0]?.id ?? '');
  expect(own.status).toBe(204);
  for (const cookie of own.headers.getSetCookie()) expect(cookie).toContain('expires=Thu, 01 Jan 1970');
  expect((await laptop.fetch('/me')).status).toBe(401);
});

test('a process that missed the end of a session while Redis was unreachable ends the connections after it has connected again', async () => {
  const proxy = await openTcpProxy(testRedisSocket());
  const behind = await startApi({ ...t.env, REDIS_URL: `redis://127.0.0.1:${proxy.port}` }, TIMING);
  try {
    const me = await signIn(t);
    const opened = await connectTo(me, [behind]);
    await proxy.shut();
    expect((await me.fetch('/auth/logout', { method: 'POST' })).status).toBe(200);
    await proxy.open();
    await Promise.all(opened.streams.map(({ ended }) => ended));
    expect((await opened.sockets[0]?.closed)?.code).toBe(4003);
  } finally {
    await behind.close();
    await proxy.close();
  }
});
