import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { startApi } from '#test/support/api.ts';
import { sql } from '#test/support/areas/boards.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { engagementsOf, linkX, request, type SocialTest, start, startSocialTest, verify } from '#test/support/areas/social.ts';
import { PUBLIC_CLIENT, type XFault } from '#test/support/servers/x-server.ts';
import { type SignedIn, send, signIn } from '#test/support/wallet.ts';

let t: SocialTest;
beforeAll(async () => {
  t = await startSocialTest({ workers: false });
});
afterAll(() => t.close());
afterEach(() => t.x.clearFaults());

const exchanges = () => t.x.requests.filter((question) => question === 'POST /2/oauth2/token').length;
const resolve = async (handle: string) => {
  const response = await send(t, '/api/wallet/resolve', { json: { identifier: handle } });
  return ((await response.json()) as { wallet?: string }).wallet ?? response.status;
};
/** Sends requests of a session to another process of the service. */
const at = (api: { url: string }, player: SignedIn): Pick<SignedIn, 'fetch'> => ({
  fetch: (path, init = {}) => send(api, path, { ...init, headers: { ...init.headers, Cookie: player.cookie } }),
});
const later = (minutes: number) => t.clock.set(new Date(t.clock.now().getTime() + minutes * 60_000));

const UNKNOWN = {
  status: 400,
  body: { error: 'state must be the value that /auth/social/link/start returned to this wallet in the last 10 minutes' },
};
const USED = { status: 409, body: { error: 'state has been used already; start linking again' } };
const REFUSED = { status: 400, body: { error: 'code must be the code that X has just returned for this state; start linking again' } };
const SILENT = { status: 503, body: { error: 'X does not answer at the moment, try again later' } };

test('an X sign-in links the account and revokes the token', async () => {
  const player = await signIn(t);
  const user = t.x.user('Ada_L');
  const { url, state, challenge, expiresAt, platform } = await start(player);
  expect([platform, challenge]).toEqual(['x', null]);
  expect(Date.parse(expiresAt) - t.clock.now().getTime()).toBeGreaterThan(590_000);
  const params = new URL(url).searchParams;
  expect(Object.fromEntries(params)).toEqual({
    response_type: 'code',
    client_id: 'confidential-client-of-tests',
    redirect_uri: 'https://coinop.test/link/x',
    scope: 'tweet.read users.read',
    state,
    code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge_method: 'S256',
  });
  expect(url).not.toContain('+');

  const answer = await verify(player, await t.x.authorize(url, user));
  const linked = { platform: 'x', accountId: user.id, handle: 'Ada_L', linkedAt: expect.stringMatching(/Z$/) };
  expect(answer).toMatchObject({ status: 200, body: linked });
  await retryUntilPass(() => expect(t.x.liveTokens).toBe(0));

  const { body } = await request(player, '/api/profile');
  expect(body.linkedAccounts).toEqual([{ platform: 'x', handle: 'Ada_L', linkedAt: answer.body.linkedAt }]);
  expect([await resolve('@ada_l'), await resolve('@ADA_L'), await resolve('@ada')]).toEqual([player.wallet, player.wallet, 404]);
  expect(await engagementsOf(t, player.wallet)).toEqual([`link x:${user.id}`]);
  const notifications = await sql<{ text: string }>(
    t.app,
    `select payload->>'text' as text from outbox where type = 'notification' and wallet = $1`,
    [player.wallet],
  );
  expect(notifications).toEqual([{ text: 'Your account @Ada_L of X is linked to this wallet.' }]);
  const attempts = await sql<{ text: string }>(t.app, 'select a::text as text from link_attempts a where wallet = $1', [player.wallet]);
  expect(attempts.some(({ text }) => text.includes(state ?? ''))).toBe(false);
});

test('a public client without a secret authenticates with its verifier', async () => {
  const withoutSecret = Object.entries(t.env).filter(([name]) => name !== 'X_CLIENT_SECRET');
  const api = await startApi({ ...Object.fromEntries(withoutSecret), ...PUBLIC_CLIENT }, t.clock);
  try {
    const player = at(api, await signIn(t));
    expect(await linkX(t, player, t.x.user())).toMatchObject({ status: 200 });
  } finally {
    await api.close();
  }
});

test('only the wallet that started linking can use the state', async () => {
  const [owner, other] = [await signIn(t), await signIn(t)];
  const back = await t.x.authorize((await start(owner)).url, t.x.user());
  expect(await verify(other, back)).toMatchObject(UNKNOWN);
  expect(await verify(owner, { ...back, state: `${back.state}x` })).toMatchObject(UNKNOWN);
  expect(await verify(owner, back)).toMatchObject({ status: 200 });
  expect(await verify(other, back)).toMatchObject(UNKNOWN);
});

test('a state is valid once and for ten minutes', async () => {
  const player = await signIn(t);
  const user = t.x.user();
  const back = await t.x.authorize((await start(player)).url, user);
  expect(await verify(player, back)).toMatchObject({ status: 200 });
  const before = exchanges();
  expect(await verify(player, back)).toMatchObject(USED);
  const { url } = await start(player);
  await later(10);
  expect(await verify(player, await t.x.authorize(url, user))).toMatchObject(UNKNOWN);
  expect(exchanges()).toBe(before);
});

test('a code of another attempt is refused, because the verifier does not match', async () => {
  const player = await signIn(t);
  const [first, second] = [await start(player), await start(player)];
  const stolen = await t.x.authorize(first.url, t.x.user());
  expect(await verify(player, { ...stolen, state: second.state })).toMatchObject(REFUSED);
  expect(await verify(player, { code: 'made-up', state: first.state })).toMatchObject(REFUSED);
  expect(await verify(player, { code: stolen.code, state: first.state })).toMatchObject(USED);
  expect(await engagementsOf(t, player.wallet)).toEqual([]);
});

test('of fifty concurrent requests with one state, one reaches X and links', async () => {
  const player = await signIn(t);
  const back = await t.x.authorize((await start(player)).url, t.x.user());
  const before = exchanges();
  const statuses = (await Promise.all(Array.from({ length: 50 }, () => verify(player, back)))).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200).length).toBe(1);
  // The rate limit allows the first twenty requests and refuses the others.
  expect(statuses.filter((status) => status === 409).length).toBe(19);
  expect(statuses.filter((status) => status === 429).length).toBe(30);
  expect(exchanges() - before).toBe(1);
  expect((await engagementsOf(t, player.wallet)).length).toBe(1);
  const { status, headers } = await verify(player, { state: 'none', code: 'none' });
  expect([status, Number(headers.get('Retry-After')) > 500]).toEqual([429, true]);
});

test('of fifty wallets that link one account concurrently, one succeeds', async () => {
  const user = t.x.user();
  const players = await Promise.all(Array.from({ length: 50 }, () => signIn(t)));
  const answers = await Promise.all(players.map((player) => linkX(t, player, user)));
  expect(answers.filter(({ status }) => status === 200).length).toBe(1);
  const others = answers.filter(({ status }) => status !== 200).map(({ status, body }) => ({ status, body }));
  expect(others).toEqual(others.map(() => ({ status: 409, body: { error: 'the account is linked to another wallet' } })));
  const rows = await sql<{ n: number }>(t.app, `select count(*)::int as n from activities where source_id = $1`, [`x:${user.id}`]);
  expect(rows).toEqual([{ n: 1 }]);
});

test('a wallet has one X account, and linking it again only updates the handle', async () => {
  const player = await signIn(t);
  const user = t.x.user();
  const first = await linkX(t, player, user);
  expect(await linkX(t, player, t.x.user())).toMatchObject({
    status: 409,
    body: { error: 'the wallet has linked another account of x; unlink it first' },
  });
  user.username = 'renamed';
  expect(await linkX(t, player, user)).toMatchObject({ status: 200, body: { ...first.body, handle: 'renamed' } });
  expect(await engagementsOf(t, player.wallet)).toEqual([`link x:${user.id}`]);
});

test.each<[string, XFault]>([
  ['responds with 503', { status: 503 }],
  ['closes the connection', 'drops'],
  ['sends an oversized response', 'floods'],
  ['redirects', { status: 302, headers: { Location: 'http://169.254.169.254/' } }],
  ['refuses the client', { status: 401, body: { error: 'unauthorized_client' } }],
  ['sends an unexpected body', { status: 200, body: ['a token'] }],
])('when X %s, verify gives 503, and the same code and state work afterwards', async (_, fault) => {
  const player = await signIn(t);
  const back = await t.x.authorize((await start(player)).url, t.x.user());
  t.x.fail('/2/oauth2/token', fault);
  const answer = await verify(player, back);
  expect([answer.status, Number(answer.headers.get('Retry-After')) > 0]).toEqual([503, true]);
  t.x.clearFaults();
  expect(await verify(player, back)).toMatchObject({ status: 200 });
});

test('a silent or endless response of X ends at the configured timeout', async () => {
  const api = await startApi({ ...t.env, X_TIMEOUT_MS: '200' }, t.clock);
  try {
    for (const fault of ['hangs', 'stalls'] as const) {
      const player = await signIn(t);
      const back = await t.x.authorize((await start(player)).url, t.x.user());
      t.x.fail('/2/oauth2/token', fault);
      expect(await verify(at(api, player), back)).toMatchObject(SILENT);
      t.x.clearFaults();
      expect(await verify(player, back)).toMatchObject({ status: 200 });
    }
  } finally {
    await api.close();
  }
});

test('a rate limit of X gives 503 with Retry-After', async () => {
  const player = await signIn(t);
  const back = await t.x.authorize((await start(player)).url, t.x.user());
  t.x.fail('/2/oauth2/token', { status: 429, headers: { 'x-rate-limit-reset': String(Math.ceil(t.clock.now().getTime() / 1_000) + 300) } });
  const { status, headers } = await verify(player, back);
  expect([status, Math.round(Number(headers.get('Retry-After')) / 100)]).toEqual([503, 3]);
});

test('when X does not return the account, nothing is linked and the state stays used', async () => {
  const player = await signIn(t);
  const back = await t.x.authorize((await start(player)).url, t.x.user());
  for (const fault of [{ status: 500 }, { status: 200, body: { data: { id: '../../me', username: 'x' } } }] as const) {
    t.x.fail('/2/users/me', fault);
    const begun = fault.status === 500 ? back : await t.x.authorize((await start(player)).url, t.x.user());
    expect(await verify(player, begun)).toMatchObject({ status: 503, body: { error: 'X did not return the account; start linking again' } });
  }
  t.x.clearFaults();
  expect(await verify(player, back)).toMatchObject(USED);
  expect(await engagementsOf(t, player.wallet)).toEqual([]);
});

test('the five newest link attempts of a wallet are valid', async () => {
  const player = await signIn(t);
  const user = t.x.user();
  const begun = await Promise.all(Array.from({ length: 12 }, () => start(player)));
  const [rows] = await sql<{ n: number }>(t.app, 'select count(*)::int as n from link_attempts where wallet = $1', [player.wallet]);
  expect(rows).toEqual({ n: 5 });
  const statuses = [];
  for (const { url } of begun) statuses.push((await verify(player, await t.x.authorize(url, user))).status);
  expect(statuses.toSorted()).toEqual([...Array<number>(5).fill(200), ...Array<number>(7).fill(400)]);
});

test('linking requires a session and a wallet that is not banned', async () => {
  for (const path of ['start', 'verify']) expect((await send(t, `/auth/social/link/${path}`, { json: {} })).status).toBe(401);
  const player = await signIn(t);
  const back = await t.x.authorize((await start(player)).url, t.x.user());
  await sql(t.app, 'update players set banned_at = app_now() where wallet = $1', [player.wallet]);
  const banned = { status: 403, body: { error: 'this wallet is banned' } };
  expect(await verify(player, back)).toMatchObject(banned);
  expect(await request(player, '/auth/social/link/start', { json: {} })).toMatchObject(banned);
});

test('without X configuration, linking gives 503 with the reason', async () => {
  const api = await startApi(Object.fromEntries(Object.entries(t.env).filter(([name]) => !/^(?:X_|WEBHOOK_SECRET_X)/.test(name))), t.clock);
  try {
    const player = at(api, await signIn(t));
    const oauth = { status: 503, body: { error: 'linking by signing in to X is not configured on this service' } };
    const challenge = { status: 503, body: { error: 'linking by a post on X is not configured on this service' } };
    expect(await request(player, '/auth/social/link/start', { method: 'POST' })).toMatchObject(oauth);
    expect(await verify(player, { code: 'code', state: 'state' })).toMatchObject(oauth);
    expect(await request(player, '/auth/social/link/start', { json: { method: 'challenge' } })).toMatchObject(challenge);
    expect(await verify(player, { postId: '1' })).toMatchObject(challenge);
    expect((await send(api, '/integrations/x/events?crc_token=abc')).status).toBe(503);
  } finally {
    await api.close();
  }
});
