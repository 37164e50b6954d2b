import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { PlayReceipt } from '#areas/arcade/schemas.ts';
import { purgeExpiredAuth } from '#areas/auth';
import { SocketTicket } from '#areas/auth/schemas.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { allowLivePlays } from '#test/support/areas/arcade.ts';
import { asAdmin } from '#test/support/areas/quests.ts';
import { FAST_TIMING, failedUpgrade, SessionClient, startApi, type TestApi } from '#test/support/http/heartbeat.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { openEvents } from '#test/support/http/sse.ts';
import { countRows, signInWithToken, type TokenHolder } from '#test/support/sign-in.ts';
import { createWallet, type SignedIn, signIn } from '#test/support/wallet.ts';

const GAME = 'https://game.test';
const FROM_GAME = { Origin: GAME };

let t: TestApp;
let other: TestApi;
beforeAll(async () => {
  t = await startTestApp({ workers: false, env: { ALLOWED_ORIGINS: `${GAME},https://friend.test` } });
  await allowLivePlays(t, 'star-raiders');
  other = await startApi(t.env, { ...FAST_TIMING, silenceMs: 60_000 });
});
afterAll(async () => {
  await other.close();
  await t.close();
});

type Caller = Pick<SignedIn | TokenHolder, 'fetch'>;
const ticketOf = async (me: Caller) => (await jsonOf(me.fetch('/auth/ticket', { method: 'POST' }), SocketTicket)).ticket;
const playOf = async (me: Caller) => (await jsonOf(me.fetch('/game/star-raiders/play', { method: 'POST' }), PlayReceipt)).playId;

test('a ticket opens one WebSocket in any process, and is refused a second time', async () => {
  const me = await signInWithToken(t, createWallet(), GAME);
  const [playId, ticket] = [await playOf(me), await ticketOf(me)];
  const client = await SessionClient.open(other.url, { playId, ticket, headers: FROM_GAME });
  expect(await client.sendHeartbeat()).toMatchObject({ beats: 1 });
  expect(await failedUpgrade(t.url, { playId, ticket, headers: FROM_GAME })).toMatchObject({ status: 401 });
  client.socket.terminate();
});

test('of concurrent upgrades with one ticket, one succeeds', async () => {
  const me = await signInWithToken(t, createWallet(), GAME);
  const [playId, ticket] = [await playOf(me), await ticketOf(me)];
  const opened = await Promise.allSettled(
    Array.from({ length: 8 }, (_, i) => SessionClient.open((i % 2 ? t : other).url, { playId, ticket, headers: FROM_GAME })),
  );
  const clients = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  expect(clients).toHaveLength(1);
  for (const client of clients) client.socket.terminate();
});

test('a ticket of a session that is bound to an origin opens a WebSocket only from this origin', async () => {
  const me = await signInWithToken(t, createWallet(), GAME);
  const playId = await playOf(me);
  for (const [headers, status] of [
    [{}, 401],
    [{ Origin: 'https://friend.test' }, 401],
    [{ Origin: t.origin }, 401],
    [{ Origin: 'https://evil.test' }, 403],
  ] as const) {
    expect((await failedUpgrade(t.url, { playId, ticket: await ticketOf(me), headers })).status).toBe(status);
  }
});

test('a ticket belongs to the wallet of its session, and a cookie beside it does not count', async () => {
  const [me, stranger] = [await signIn(t), await signInWithToken(t)];
  const playId = await playOf(me);
  expect((await failedUpgrade(t.url, { playId, ticket: await ticketOf(stranger), cookie: me.cookie })).status).toBe(404);
  expect((await failedUpgrade(t.url, { playId, ticket: 'unknown', cookie: me.cookie })).status).toBe(401);
  const client = await SessionClient.open(t.url, { playId, ticket: await ticketOf(me) });
  client.socket.terminate();
});

test('a client that is not a browser opens a WebSocket with its token', async () => {
  const me = await signInWithToken(t);
  const client = await SessionClient.open(t.url, { playId: await playOf(me), headers: { ...me.headers } });
  client.socket.terminate();
});

test('a ticket is refused after 30 seconds, and the purge deletes it', async () => {
  const me = await signInWithToken(t);
  const [playId, ticket, unused] = [await playOf(me), await ticketOf(me), await ticketOf(me)];
  expect(unused).not.toBe(ticket);
  await t.clock.set(new Date(t.clock.now().getTime() + 31_000));
  expect((await failedUpgrade(t.url, { playId, ticket })).status).toBe(401);
  const { tickets } = await t.app.tx(purgeExpiredAuth);
  expect(tickets).toBeGreaterThanOrEqual(1);
  expect(await countRows(t, 'session_tickets', '$1', [true])).toBe(0);
});

test('a ticket of an ended session is refused, and the database does not contain the ticket', async () => {
  const me = await signInWithToken(t);
  const [playId, ticket] = [await playOf(me), await ticketOf(me)];
  const rows = await t.app.db.query<{ row: string }>({ text: 'select s::text as row from session_tickets s' });
  for (const { row } of rows) expect(row).not.toContain(ticket);
  await me.fetch('/auth/logout', { method: 'POST' });
  expect((await failedUpgrade(t.url, { playId, ticket })).status).toBe(401);
});

const byToken = { method: 'POST' };
test.each([
  ['a logout', (me: TokenHolder) => me.fetch('/auth/logout', byToken)],
  ['DELETE /me/sessions', (me: TokenHolder) => me.fetch('/me/sessions', { method: 'DELETE' })],
  [
    'DELETE /me/sessions/{id}',
    async (me: TokenHolder) => {
      const [own] = await jsonOf(me.fetch('/me/sessions'), z.array(z.object({ id: z.string() })));
      return await me.fetch(`/me/sessions/${own?.id}`, { method: 'DELETE' });
    },
  ],
  ['a ban', (me: TokenHolder) => asAdmin(t, `/admin/wallets/${me.wallet}/ban`, { json: { reason: 'tests' } })],
])('%s ends the streams of a token and the sockets of its tickets in every process within a second', async (_name, end) => {
  const me = await signInWithToken(t, createWallet(), GAME);
  const streams = await Promise.all([t, other].map((at) => openEvents(at, { headers: me.headers })));
  const sockets = await Promise.all(
    [t, other].map(async ({ url }) => SessionClient.open(url, { playId: await playOf(me), ticket: await ticketOf(me), headers: FROM_GAME })),
  );
  const since = performance.now();
  expect((await end(me)).status).toBeLessThan(300);
  await Promise.all(streams.map(({ ended }) => ended));
  expect(await Promise.all(sockets.map(async ({ closed }) => (await closed).code))).toEqual([4003, 4003]);
  expect(performance.now() - since).toBeLessThan(1_000);
});

test('the streams and sockets of a token end when the token expires', async () => {
  const me = await signInWithToken(t, createWallet(), GAME);
  const stream = await openEvents(t, { headers: me.headers });
  const socket = await SessionClient.open(t.url, { playId: await playOf(me), ticket: await ticketOf(me), headers: FROM_GAME });
  await t.clock.set(new Date(Date.parse(me.expiresAt) + 1));
  await stream.ended;
  expect((await socket.closed).code).toBe(4003);
  await t.clock.set(new Date());
});

test('a page of an allowed origin opens an event stream with its token', async () => {
  const me = await signInWithToken(t, createWallet(), GAME);
  const stream = await openEvents(t, { headers: me.headers });
  expect([stream.status, stream.headers['access-control-allow-origin']]).toEqual([200, GAME]);
  stream.close();
});
