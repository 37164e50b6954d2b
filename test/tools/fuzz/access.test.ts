import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { routes as routesByCaller } from '#areas/index.ts';
import { SCOPES, type Scope } from '#config';
import { operationId } from '#platform/http/openapi/document.ts';
import type { AnyRoute } from '#platform/http/route.ts';
import { ADMIN_TOKEN } from '#test/support/app.ts';
import { registerGame } from '#test/support/areas/arcade.ts';
import { randomWallet } from '#test/support/areas/epochs.ts';
import { request, type SocialTest, startSocialTest, X_SECRET } from '#test/support/areas/social.ts';
import { failedUpgrade } from '#test/support/http/heartbeat.ts';
import { createSecret, standardHeaders, xHeaders } from '#test/support/http/webhook.ts';
import { signInWithToken } from '#test/support/sign-in.ts';
import { type SignedIn, send, signIn } from '#test/support/wallet.ts';

/** Access tests: every route with every credential. */

const GAME = 'access-game';
const INTERNAL = 'access-internal-token-0123456789';
const scoped = Object.fromEntries(SCOPES.map((scope) => [scope, `access-${scope}-token-0123456789`])) as Record<Scope, string>;
const webhooks = { 'payment-status': createSecret(), 'chat-bridge': createSecret() };
const routes: readonly AnyRoute[] = Object.values(routesByCaller).flat();

let t: SocialTest;
let owner: SignedIn;
let other: SignedIn;
let token: string;
beforeAll(async () => {
  t = await startSocialTest({
    env: {
      ADMIN_TOKENS: [ADMIN_TOKEN, ...SCOPES.map((scope) => `only-${scope}:${scope}:${scoped[scope]}`)].join(),
      INTERNAL_TOKENS: INTERNAL,
      WEBHOOK_SECRET_PAYMENT_STATUS: webhooks['payment-status'],
      WEBHOOK_SECRET_CHAT_BRIDGE: webhooks['chat-bridge'],
      REWARD_MINT: randomWallet(),
    },
  });
  await registerGame(t.url, ADMIN_TOKEN, GAME);
  [owner, other] = await Promise.all([signIn(t), signIn(t)]);
  ({ token } = await signInWithToken(t));
});
afterAll(() => t.close());

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });
const PATH_VALUES: Readonly<Record<string, string>> = { wallet: randomWallet(), epoch: '20000', source: 'x', platform: 'x' };
/** Returns a path of a route with ids that do not exist. */
const pathOf = (route: AnyRoute) => route.path.replace(/\{(\w+)\}/g, (_, name: string) => PATH_VALUES[name] ?? randomUUID());
const hasBody = (route: AnyRoute) => route.method !== 'get';

/** Sends a minimal request to a route. @returns the status */
async function statusOf(route: AnyRoute, headers: Record<string, string>, body = '{}'): Promise<number> {
  const type = hasBody(route) ? { 'Content-Type': 'application/json' } : {};
  const init = { method: route.method.toUpperCase(), headers: { ...type, ...headers }, ...(hasBody(route) ? { body } : {}) };
  const response = await fetch(`${t.url}${pathOf(route)}`, init);
  await response.text();
  return response.status;
}

/** Returns the signed headers of a webhook delivery. */
const signed = (source: 'payment-status' | 'chat-bridge' | 'x', body = '{}') =>
  source === 'x' ? xHeaders(X_SECRET, body) : standardHeaders(webhooks[source], `msg_${randomUUID()}`, Math.floor(Date.now() / 1_000), body);

/** All kinds of callers, with the headers that they send. */
const callers = (): Record<string, Record<string, string>> => ({
  'no credentials': {},
  'a session': { Cookie: owner.cookie },
  'a session token': bearer(token),
  'a session with an admin token': { Cookie: owner.cookie, ...bearer(ADMIN_TOKEN) },
  'a session with an unknown session token': { Cookie: owner.cookie, ...bearer(`sess_${'A'.repeat(43)}`) },
  'the internal token': bearer(INTERNAL),
  ...Object.fromEntries(SCOPES.map((scope) => [`the token of ${scope}`, bearer(scoped[scope])])),
  'the token of all scopes': bearer(ADMIN_TOKEN),
  'a session id as a token': bearer(owner.cookie.slice(owner.cookie.indexOf('=') + 1, owner.cookie.indexOf(';'))),
  'a token in another case': bearer(ADMIN_TOKEN.toUpperCase()),
  'a token as a password': { Authorization: `Basic ${Buffer.from(`x:${ADMIN_TOKEN}`).toString('base64')}` },
  'a token as a cookie': { Cookie: `coinop.sid=${ADMIN_TOKEN}; coinop.sid.sig=${ADMIN_TOKEN}` },
  'a webhook of payments': signed('payment-status'),
  'a webhook of X': signed('x'),
});

/** Returns the callers that a route accepts. @param rejected statuses of a rejected caller */
async function letThrough(route: AnyRoute, rejected: readonly number[]): Promise<string[]> {
  const statuses = Object.entries(callers()).map(async ([name, headers]) => [name, await statusOf(route, headers)] as const);
  return (await Promise.all(statuses)).filter(([, status]) => !rejected.includes(status)).map(([name]) => name);
}

const scopeOf = ({ auth }: AnyRoute) => (typeof auth === 'object' && 'admin' in auth ? auth.admin : null);

test('an admin route accepts only tokens of its scope', async () => {
  const ofAdmins = routes.filter((route) => scopeOf(route) !== null);
  expect(ofAdmins.length).toBeGreaterThan(40);
  const wrong: string[] = [];
  // Checks the routes side by side, because each wrong token waits for its response.
  const check = async (route: AnyRoute) => {
    const through = await letThrough(route, [403]);
    if (through.join() !== `a session with an admin token,the token of ${scopeOf(route)},the token of all scopes`)
      wrong.push(`${operationId(route)}: ${through.join(', ')}`);
  };
  for (let i = 0; i < ofAdmins.length; i += 30) await Promise.all(ofAdmins.slice(i, i + 30).map(check));
  expect(wrong).toEqual([]);
});

test('an import accepts the internal token and tokens of scope money', async () => {
  const imports = routes.filter((route) => route.auth === 'internal');
  expect(imports.map(operationId)).toEqual(['postApiRewardsEpochImport']);
  for (const route of imports) {
    expect(await letThrough(route, [403])).toEqual([
      'a session with an admin token',
      'the internal token',
      'the token of money',
      'the token of all scopes',
    ]);
  }
});

/** Requests that end the session of the other requests. */
const ENDING = ['postAuthLogout', 'deleteMe', 'deleteMeSessions'];

test('a session route accepts only sessions', async () => {
  const ofWallets = routes.filter((route) => route.auth === 'session');
  expect(ofWallets.length).toBeGreaterThan(35);
  const wrong: string[] = [];
  for (const route of ofWallets.filter((one) => !ENDING.includes(operationId(one)))) {
    const through = await letThrough(route, [401]);
    if (through.join() !== 'a session,a session token') wrong.push(`${operationId(route)}: ${through.join(', ')}`);
  }
  expect(wrong).toEqual([]);
});

test('after a logout every session route rejects the session', async () => {
  const leaving = await signIn(t);
  expect((await leaving.fetch('/auth/logout', { method: 'POST' })).status).toBe(200);
  for (const route of routes.filter(({ auth }) => auth === 'session')) expect(await statusOf(route, { Cookie: leaving.cookie })).toBe(401);
});

test('a cookie with a changed id or signature is rejected', async () => {
  const [id = '', signature = ''] = owner.cookie.split('; ').map((pair) => pair.slice(pair.indexOf('=') + 1));
  const [otherId = '', otherSignature = ''] = other.cookie.split('; ').map((pair) => pair.slice(pair.indexOf('=') + 1));
  const pairs: readonly (readonly [string, string])[] = [
    [id, otherSignature],
    [otherId, signature],
    [id, ''],
    [id, signature.slice(1)],
    [id.slice(1), signature],
    [`${id}A`, signature],
    ['', signature],
    [encodeURIComponent(`${id}\0`), signature],
  ];
  for (const [sid, sig] of pairs) {
    const response = await fetch(`${t.url}/me`, { headers: { Cookie: `coinop.sid=${sid}; coinop.sid.sig=${sig}` } });
    expect([response.status, sid === id && sig === signature]).toEqual([401, false]);
    await response.text();
  }
});

test('a webhook accepts only the signature of its own source', async () => {
  const hooks = routes.flatMap((route) => (typeof route.auth === 'object' && 'webhook' in route.auth ? [{ route, source: route.auth.webhook }] : []));
  expect(hooks.map(({ source }) => source).sort()).toEqual(['chat-bridge', 'payment-status', 'x']);
  for (const { route, source } of hooks) {
    const through = await letThrough(route, [401]);
    // A correctly signed delivery passes authentication and is then rejected because of its body.
    const own = { 'payment-status': 'a webhook of payments', x: 'a webhook of X', 'chat-bridge': '' }[source];
    expect(through).toEqual(own === '' ? [] : [own]);
    expect(await statusOf(route, signed(source))).not.toBe(401);
    expect(await statusOf(route, signed(source), '{ }')).toBe(401);
  }
});

test('a public route ignores wrong credentials', async () => {
  const free = routes.filter((route) => route.auth === 'public' && route.method === 'get' && !route.path.includes('{'));
  for (const route of free) {
    const [without, wrong] = await Promise.all([
      statusOf(route, {}),
      statusOf(route, { ...bearer('nonsense'), Cookie: 'coinop.sid=a; coinop.sid.sig=b' }),
    ]);
    expect([route.path, wrong]).toEqual([route.path, without]);
  }
});

test('a session route returns data of its own wallet, whatever wallet the query names', async () => {
  const own = routes.filter(
    (route) => route.auth === 'session' && route.method === 'get' && !route.path.includes('{') && route.path !== '/eligibility',
  );
  expect(own.length).toBeGreaterThan(15);
  const textOf = async (path: string) => (await other.fetch(path)).text();
  for (const { path } of own) {
    const stolen = `${path}?wallet=${owner.wallet}&walletId=${owner.wallet}&user=${owner.wallet}&sub=${owner.wallet}`;
    const text = await textOf(stolen);
    expect([path, text.includes(owner.wallet)]).toEqual([path, false]);
  }
});

test('a play of another wallet gives no score and no session, and stays usable for its owner', async () => {
  const play = await request<{ playId: string }>(owner, `/game/${GAME}/play`, { method: 'POST' });
  const { playId } = play.body;
  expect((await request(other, '/arcade/score', { json: { gameId: GAME, score: 9_999, playId } })).status).toBe(400);
  expect((await failedUpgrade(t.url, { game: GAME, playId, cookie: other.cookie })).status).toBe(404);
  expect((await request(owner, '/arcade/score', { json: { gameId: GAME, score: 1_000, playId } })).body).toMatchObject({ status: 'accepted' });
});

test('the leaf of another wallet cannot be claimed', async () => {
  const imported = await send(t, '/api/rewards/epoch/import', {
    json: { epoch: 20_000, distribution: [{ wallet: owner.wallet, amount: '5' }] },
    headers: bearer(INTERNAL),
  });
  expect(imported.status).toBe(201);
  expect((await request(other, '/api/rewards/claim', { json: { epoch: 20_000, proof: [] } })).status).toBe(404);
  expect((await request(other, '/api/rewards/claim', { json: { epoch: 20_000, proof: [], wallet: owner.wallet } })).status).toBe(400);
});

test('a WebSocket opens only with a session and an allowed origin', async () => {
  const play = await request<{ playId: string }>(owner, '/game/star-raiders/play', { method: 'POST' });
  const { playId } = play.body;
  const status = async (given: { cookie?: string; headers?: Record<string, string>; playId?: string }) =>
    (await failedUpgrade(t.url, { playId, ...given })).status;
  expect(await status({})).toBe(401);
  expect(await status({ headers: bearer(ADMIN_TOKEN) })).toBe(401);
  expect(await status({ cookie: `${owner.cookie}x` })).toBe(401);
  expect(await status({ cookie: owner.cookie, headers: { Origin: 'https://evil.example' } })).toBe(403);
  expect(await status({ cookie: owner.cookie, headers: { Origin: 'null' } })).toBe(403);
  expect(await status({ cookie: owner.cookie, headers: { 'Sec-Fetch-Site': 'cross-site' } })).toBe(403);
  expect(await status({ cookie: owner.cookie, playId: randomUUID() })).toBe(404);
  expect(await status({ cookie: owner.cookie, playId: '%00' })).toBe(400);
  const socket = new WebSocket(`${t.url.replace('http', 'ws')}/game/star-raiders/session?playId=${playId}`, { headers: { Cookie: owner.cookie } });
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  socket.terminate();
});
