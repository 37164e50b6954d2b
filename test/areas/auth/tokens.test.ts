import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { z } from 'zod';
import { endSessions } from '#areas/auth';
import { OwnSession } from '#areas/auth/schemas.ts';
import { startApi } from '#test/support/api.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { asAdmin } from '#test/support/areas/quests.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { cachedSessions, countRows, loseSessions, markKeyOf, sessionKeys, signInWithToken, verifyText } from '#test/support/sign-in.ts';
import { createWallet, requestNonce, send, signIn } from '#test/support/wallet.ts';

const GAME = 'https://game.test';
const FRIEND = 'https://friend.test';
const HOUR = 3_600_000;

let t: TestApp;
let other: Awaited<ReturnType<typeof startApi>>;
beforeAll(async () => {
  t = await startTestApp({ workers: false, env: { ALLOWED_ORIGINS: `${GAME},${FRIEND}` } });
  other = await startApi(t.env, t.clock);
});
beforeEach(() => t.clock.set(new Date()));
afterAll(async () => {
  await other.close();
  await t.close();
});

const statusOf = async (at: { url: string }, headers: Readonly<Record<string, string>>, path = '/me') => (await send(at, path, { headers })).status;
const bearer = (token: string, origin?: string) => ({ Authorization: `Bearer ${token}`, ...(origin ? { Origin: origin } : {}) });
const errorOf = async (response: Response) => [response.status, z.object({ error: z.string() }).parse(await response.json()).error];
const REFUSED = [401, 'Authorization must be a session token that has not ended, sent from the origin that requested it'];

test('a sign-in with transport bearer answers a token for 24 hours and sets no cookie', async () => {
  const me = await signInWithToken(t, createWallet(), GAME);
  expect(me.token).toMatch(/^sess_[\w-]{43}$/);
  expect(Math.abs(Date.parse(me.expiresAt) - Date.now() - 24 * HOUR)).toBeLessThan(5_000);
  for (const at of [t, other]) expect(await (await send(at, '/me', { headers: me.headers })).json()).toMatchObject({ wallet: me.wallet });
  const response = await me.fetch('/api/beta/preference', { json: { enabled: true } });
  expect([response.status, response.headers.getSetCookie(), response.headers.get('Access-Control-Allow-Origin')]).toEqual([200, [], GAME]);
});

test('a sign-in with transport bearer from an origin that is not allowed is refused with 403', async () => {
  const wallet = createWallet();
  const message = await requestNonce(t);
  for (const Origin of ['https://evil.test', 'null']) {
    expect((await verifyText(t, wallet, message, wallet.address, { headers: { Origin } })).status).toBe(403);
  }
});

test('a preflight request of an allowed origin allows the header Authorization', async () => {
  const headers = { Origin: GAME, 'Access-Control-Request-Method': 'GET', 'Access-Control-Request-Headers': 'authorization' };
  const response = await send(t, '/me', { method: 'OPTIONS', headers });
  expect(response.headers.get('Access-Control-Allow-Headers')).toContain('Authorization');
});

test('a token counts only for requests of the origin that requested it', async () => {
  const me = await signInWithToken(t, createWallet(), GAME);
  expect(await statusOf(t, bearer(me.token, GAME))).toBe(200);
  for (const headers of [
    bearer(me.token),
    bearer(me.token, FRIEND),
    bearer(me.token, 'null'),
    bearer(me.token, t.origin),
    { ...bearer(me.token), 'Sec-Fetch-Site': 'same-origin' },
  ]) {
    expect(await errorOf(await send(t, '/me', { headers }))).toEqual(REFUSED);
  }
  const lobby = await send(t, '/api/lobby?game=star-raiders', { headers: bearer(me.token) });
  expect(await lobby.json()).toMatchObject({ rank: null });
});

test('a token that a page of the service requested counts for its reads, which have no Origin', async () => {
  const me = await signInWithToken(t, createWallet(), t.origin);
  expect(await statusOf(t, { ...bearer(me.token), 'Sec-Fetch-Site': 'same-origin' })).toBe(200);
  expect(await statusOf(t, bearer(me.token))).toBe(401);
});

test('a token that was requested without an Origin counts without one', async () => {
  const me = await signInWithToken(t);
  expect(await statusOf(t, me.headers)).toBe(200);
});

test('the header Authorization has precedence over the cookie', async () => {
  const [cookie, token] = [await signIn(t), await signInWithToken(t)];
  const both = await send(t, '/me', { headers: { Cookie: cookie.cookie, ...token.headers } });
  expect(await both.json()).toMatchObject({ wallet: token.wallet });
  for (const wrong of [ADMIN_TOKEN, `${token.token}x`, 'sess_', `sess_restricted.${token.token.slice(5)}`, token.token.slice(5)]) {
    expect(await errorOf(await send(t, '/me', { headers: { Cookie: cookie.cookie, ...bearer(wrong) } }))).toEqual(REFUSED);
  }
  expect(await statusOf(t, { Cookie: cookie.cookie, Authorization: 'Basic eDp5' })).toBe(200);
});

test('the id of a cookie is no token, and a token is no cookie', async () => {
  const [me, token] = [await signIn(t), await signInWithToken(t)];
  const id = /coinop\.sid=([^;]*)/.exec(me.cookie)?.[1] ?? '';
  for (const given of [id, `sess_${id}`]) expect(await statusOf(t, bearer(given))).toBe(401);
  expect(await statusOf(t, { Cookie: me.cookie.replaceAll(id, token.token) })).toBe(401);
});

test('a session token on an admin route gets a 403, and on a route for sessions or admins it is a session', async () => {
  const me = await signInWithToken(t);
  expect(await statusOf(t, me.headers, '/admin/scores')).toBe(403);
  expect((await me.fetch('/admin/theme', { json: { theme: {} } })).status).toBe(403);
  const activate = '/events/burn/0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a/activate';
  expect((await me.fetch(activate, { method: 'POST' })).status).toBe(404);
  expect((await send(t, activate, { method: 'POST', headers: bearer(`${me.token}x`) })).status).toBe(401);
});

test('neither the database nor Redis contains a token', async () => {
  const me = await signInWithToken(t);
  await me.fetch('/me');
  const rows = await t.app.db.query<{ row: string }>({ text: 'select s::text as row from sessions s' });
  const keys = await sessionKeys(t);
  const values = await cachedSessions(t);
  for (const text of [...rows.map((r) => r.row), ...keys, ...values]) expect(text).not.toContain(me.token.slice(5));
});

test('the use of a token is recorded at most once an hour and does not extend its session beyond 24 hours', async () => {
  const me = await signInWithToken(t, createWallet(), GAME);
  const own = async () => (await jsonOf(me.fetch('/me/sessions'), z.array(OwnSession)))[0];
  const first = await own();
  await t.clock.set(new Date(Date.now() + 2 * HOUR));
  const later = await own();
  expect(later).toMatchObject({ transport: 'bearer', origin: GAME, current: true, expiresAt: first?.expiresAt });
  expect(Date.parse(later?.lastUsedAt ?? '') - Date.parse(first?.lastUsedAt ?? '')).toBeGreaterThanOrEqual(2 * HOUR - 1_000);
  await t.clock.set(new Date(Date.parse(me.expiresAt) - 5_000));
  expect(await statusOf(other, me.headers)).toBe(200);
  await t.clock.set(new Date(Date.parse(me.expiresAt) + 1));
  for (const at of [t, other]) expect(await statusOf(at, me.headers)).toBe(401);
});

test('sessions with tokens survive the loss of all Redis data, with their origin', async () => {
  const me = await signInWithToken(t, createWallet(), GAME);
  await loseSessions(t);
  expect(await statusOf(t, bearer(me.token, FRIEND))).toBe(401);
  expect(await statusOf(t, me.headers)).toBe(200);
  // The first request cached the session.
  expect(await statusOf(other, bearer(me.token, FRIEND))).toBe(401);
});

test('a session that a process of an earlier release cached under the key of the mark is read from PostgreSQL, and ends at a logout', async () => {
  const me = await signIn(t);
  expect(await statusOf(t, { Cookie: me.cookie })).toBe(200);
  for (const key of await sessionKeys(t)) await t.app.redis.set(markKeyOf(key), `${me.wallet} 1 1 99999999999999 cookie`);
  await loseSessions(t);
  expect(await jsonOf(me.fetch('/me/sessions'), z.array(OwnSession))).toMatchObject([{ transport: 'cookie', origin: null, current: true }]);
  expect((await me.fetch('/auth/logout', { method: 'POST' })).status).toBe(200);
  expect(await statusOf(t, { Cookie: me.cookie })).toBe(401);
});

test('a logout with a token ends its session in every process, and keeps the session of the cookie', async () => {
  const wallet = createWallet();
  const [me, token] = [await signIn(t, wallet), await signInWithToken(t, wallet, GAME)];
  const out = await token.fetch('/auth/logout', { method: 'POST', headers: { Cookie: me.cookie } });
  expect([out.status, out.headers.getSetCookie()]).toEqual([200, []]);
  for (const at of [t, other]) expect([await statusOf(at, token.headers), await statusOf(at, { Cookie: me.cookie })]).toEqual([401, 200]);
});

test('a sign-in with a token ends the session of this token, and keeps the session of a cookie', async () => {
  const cookie = await signIn(t);
  const first = await signInWithToken(t);
  const wallet = createWallet();
  const text = await requestNonce(t);
  const response = await verifyText(t, wallet, text, wallet.address, { headers: { ...first.headers, Cookie: cookie.cookie } });
  expect([response.status, response.headers.getSetCookie().length]).toEqual([200, 2]);
  expect([await statusOf(t, first.headers), await statusOf(t, { Cookie: cookie.cookie })]).toEqual([401, 200]);
  // A token that has ended is no obstacle to a new sign-in.
  const again = await verifyText(t, wallet, await requestNonce(t), wallet.address, { headers: first.headers });
  expect(again.status).toBe(200);
});

test('DELETE /me/sessions ends all sessions of the wallet in every process, and no others', async () => {
  const wallet = createWallet();
  const [cookie, token, second] = [await signIn(t, wallet), await signInWithToken(t, wallet, GAME), await signInWithToken(t, wallet)];
  const stranger = await signInWithToken(t);
  const response = await cookie.fetch('/me/sessions', { method: 'DELETE' });
  expect(response.status).toBe(204);
  for (const line of response.headers.getSetCookie()) expect(line).toContain('expires=Thu, 01 Jan 1970');
  for (const at of [t, other]) {
    for (const headers of [{ Cookie: cookie.cookie }, token.headers, second.headers]) expect(await statusOf(at, headers)).toBe(401);
    expect(await statusOf(at, stranger.headers)).toBe(200);
  }
  expect(await countRows(t, 'sessions', 'wallet = $1', [wallet.address])).toBe(0);
  expect((await stranger.fetch('/me/sessions', { method: 'DELETE' })).status).toBe(204);
  expect(await statusOf(t, stranger.headers)).toBe(401);
});

test('endSessions and DELETE /me end the sessions of tokens', async () => {
  const wallet = createWallet();
  const first = await signInWithToken(t, wallet, GAME);
  await endSessions(t.app, wallet.address);
  expect(await statusOf(t, first.headers)).toBe(401);
  const second = await signInWithToken(t, wallet, GAME);
  expect((await second.fetch('/me', { method: 'DELETE' })).status).toBe(202);
  expect(await statusOf(other, second.headers)).toBe(401);
});

test('the token of a banned wallet serves only the routes for banned wallets, and no ticket', async () => {
  const wallet = createWallet();
  await signInWithToken(t, wallet);
  expect((await asAdmin(t, `/admin/wallets/${wallet.address}/ban`, { json: { reason: 'tests' } })).status).toBe(200);
  const me = await signInWithToken(t, wallet, GAME);
  expect(me.token).toMatch(/^sess_restricted\.[\w-]{43}$/);
  expect([await statusOf(t, me.headers), await statusOf(t, bearer(me.token, FRIEND))]).toEqual([200, 401]);
  expect((await me.fetch('/api/beta/preference', { json: { enabled: true } })).status).toBe(403);
  expect((await me.fetch('/auth/ticket', { method: 'POST' })).status).toBe(403);
});

test('a wallet gets at most 60 tickets per minute', async () => {
  const me = await signInWithToken(t);
  const statuses = await Promise.all(Array.from({ length: 62 }, async () => (await me.fetch('/auth/ticket', { method: 'POST' })).status));
  expect([201, 429].map((status) => statuses.filter((one) => one === status).length)).toEqual([60, 2]);
});
