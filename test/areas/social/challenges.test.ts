import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { readConfig } from '#config';
import { XEnvironment, xConfig } from '#platform/x/config.ts';
import { startApi } from '#test/support/api.ts';
import { sql } from '#test/support/areas/boards.ts';
import { engagementsOf, linkX, request, type SocialTest, start, startSocialTest, verify } from '#test/support/areas/social.ts';
import { send, signIn } from '#test/support/wallet.ts';

let t: SocialTest;
beforeAll(async () => {
  t = await startSocialTest({ workers: false });
});
afterAll(() => t.close());
afterEach(() => t.x.clearFaults());

const later = (minutes: number) => t.clock.set(new Date(t.clock.now().getTime() + minutes * 60_000));
const reads = () => t.x.requests.filter((question) => question.startsWith('GET /2/tweets/')).length;
/** Signs a wallet in and starts a challenge. @returns the wallet and the text to post */
async function challenged() {
  const player = await signIn(t);
  const { challenge } = await start(player, 'challenge');
  return { player, text: challenge ?? '' };
}

const NONE_OPEN = { status: 400, body: { error: 'the wallet has no open challenge; start linking by a post, then verify within 10 minutes' } };
const NOT_IT = { status: 400, body: { error: 'the post must begin with the text of the challenge' } };
const UNSEEN = { status: 400, body: { error: 'the post must be public' } };

test('a post that begins with the challenge links the account of its author', async () => {
  const player = await signIn(t);
  const user = t.x.user('grace');
  const { challenge, url, state } = await start(player, 'challenge');
  expect(challenge).toContain(player.wallet);
  expect([url, state]).toEqual([`${t.x.url}/intent/tweet?text=${encodeURIComponent(challenge ?? '')}`, null]);
  // X would turn a dot between two words into a link, which changes the text.
  expect(challenge).not.toMatch(/\w\.\w|:\/\/|[@#$]/);
  const postId = t.x.post(user, `${challenge}\n\nwish me luck`);
  expect(await verify(player, { postId })).toMatchObject({ status: 200, body: { platform: 'x', accountId: user.id, handle: 'grace' } });
  expect(await engagementsOf(t, player.wallet)).toEqual([`link x:${user.id}`]);
  expect(await verify(player, { postId })).toMatchObject(NONE_OPEN);
});

test.each([
  'https://x.com/grace/status/%',
  'https://twitter.com/grace/status/%?s=20',
  'https://www.x.com/i/web/status/%#top',
  'https://mobile.twitter.com/Grace_1/statuses/%/photo/1',
  'HTTPS://X.COM/i/status/%',
])('the post can be given by its URL: %s', async (address) => {
  const { player, text } = await challenged();
  const postUrl = address.replace('%', t.x.post(t.x.user(), text));
  expect(await verify(player, { postUrl })).toMatchObject({ status: 200 });
});

const NOT_A_POST = 'postUrl must be the URL of a post, such as https://x.com/coinop/status/1234567890';
test.each([
  [{}, 'code is required and must be the code from the network (or postUrl or postId must name a post)'],
  [{ code: 'code' }, 'state is required and must be the state from start'],
  [{ code: '', state: 'state' }, 'code must not be empty'],
  [{ code: 'co de', state: 'state' }, 'code must be printable characters without spaces'],
  [{ code: 'x'.repeat(1_025), state: 'state' }, 'code must be at most 1024 characters'],
  [{ code: 7, state: 'state' }, 'code must be text'],
  [{ code: 'code', state: 'state', postId: '1' }, 'code and state must not be combined with a post'],
  [{ postId: '1', postUrl: 'https://x.com/a/status/1' }, 'postId must not be combined with postUrl'],
  [{ postId: '1/../2' }, 'postId must be the id of a post, 1 to 20 digits'],
  [{ postId: '1'.repeat(21) }, 'postId must be the id of a post, 1 to 20 digits'],
  [{ postUrl: 'http://x.com/a/status/1' }, NOT_A_POST],
  [{ postUrl: 'https://x.com.evil.test/a/status/1' }, NOT_A_POST],
  [{ postUrl: 'https://x.com@evil.test/a/status/1' }, NOT_A_POST],
  [{ postUrl: 'https://evil.test/x.com/a/status/1' }, NOT_A_POST],
  [{ postUrl: 'https://x.com/a/status/1/../../../2/users/me' }, null],
  [{ postUrl: 'https://x.com/a/status/one' }, NOT_A_POST],
  [{ platform: 'discord', code: 'code', state: 'state' }, 'platform must be x'],
  [{ state: 'state', code: 'code', wallet: 'mine' }, 'wallet is not a known field'],
])('case %#: an invalid verify body gives 400', async (json, error) => {
  // A null error stands for a valid body: only its post id is used, and the request fails because no challenge is open.
  expect(await verify(await signIn(t), json)).toMatchObject({ status: 400, body: { error: error ?? NONE_OPEN.body.error } });
});

test('an invalid start body gives 400', async () => {
  const player = await signIn(t);
  for (const [json, error] of [
    [{ method: 'telepathy' }, 'method must be one of oauth, challenge'],
    [{ platform: 'discord' }, 'platform must be x'],
  ] as const) {
    expect(await request(player, '/auth/social/link/start', { json })).toMatchObject({ status: 400, body: { error } });
  }
});

test('a challenge is open for ten minutes, and without one no request is sent to X', async () => {
  const { player, text } = await challenged();
  const postId = t.x.post(t.x.user(), text);
  const before = reads();
  expect(await verify(await signIn(t), { postId })).toMatchObject(NONE_OPEN);
  await later(10);
  expect(await verify(player, { postId })).toMatchObject(NONE_OPEN);
  expect(reads()).toBe(before);
});

test('a post with another text, another wallet’s challenge or a repost of it does not link the account', async () => {
  const { player, text } = await challenged();
  const [victim, mine] = [t.x.user(), t.x.user()];
  const other = await challenged();
  for (const postId of [
    t.x.post(victim, 'hello'),
    t.x.post(victim, `look: ${text}`),
    t.x.post(victim, text.slice(0, -1)),
    t.x.post(victim, other.text),
    // The victim reposted a post of the wallet's owner.
    t.x.post(victim, text, { referenced_tweets: [{ type: 'retweeted', id: t.x.post(mine, text) }] }),
  ]) {
    expect(await verify(player, { postId })).toMatchObject(NOT_IT);
  }
  expect(await verify(player, { postId: t.x.hiddenPost() })).toMatchObject(UNSEEN);
  expect(await verify(player, { postId: t.x.post(mine, text, { referenced_tweets: [{ type: 'quoted', id: '1' }] }) })).toMatchObject({ status: 200 });
});

test('the full text of a long post is read', async () => {
  const { player, text } = await challenged();
  const postId = t.x.post(t.x.user(), `${text.slice(0, 60)}…`, { note_tweet: { text: `${text} ${'and so on '.repeat(100)}` } });
  expect(await verify(player, { postId })).toMatchObject({ status: 200 });
});

test('of twenty concurrent verify requests one links, and the challenge is used', async () => {
  const { player, text } = await challenged();
  await start(player, 'challenge');
  const postId = t.x.post(t.x.user(), text);
  const answers = await Promise.all(Array.from({ length: 20 }, () => verify(player, { postId })));
  expect(answers.filter(({ status }) => status === 200).length).toBe(1);
  const others = answers.filter(({ status }) => status !== 200).map(({ status, body }) => `${status} ${body.error}`);
  expect(new Set([...others, USED, NOT_ANY_MORE])).toEqual(new Set([USED, NOT_ANY_MORE]));
  expect((await engagementsOf(t, player.wallet)).length).toBe(1);
});
const USED = '409 the challenge has been used already; start linking again';
/** The error of a request that reads the open challenges after the first link: it finds only the second challenge. */
const NOT_ANY_MORE = `400 ${NOT_IT.body.error}`;

test('a refused link leaves the challenge open', async () => {
  const user = t.x.user();
  expect(await linkX(t, await signIn(t), user)).toMatchObject({ status: 200 });
  const { player, text } = await challenged();
  expect(await verify(player, { postId: t.x.post(user, text) })).toMatchObject({
    status: 409,
    body: { error: 'the account is linked to another wallet' },
  });
  expect(await verify(player, { postId: t.x.post(t.x.user(), text) })).toMatchObject({ status: 200 });
});

test('the hourly limit of post reads is shared by all wallets', async () => {
  const [first, second] = [await challenged(), await challenged()];
  expect(await verify(first.player, { postId: t.x.post(t.x.user(), first.text) })).toMatchObject({ status: 200 });
  const api = await startApi({ ...t.env, X_POST_READS_PER_HOUR: '1' }, t.clock);
  try {
    const before = reads();
    const json = { postId: t.x.post(t.x.user(), second.text) };
    const response = await send(api, '/auth/social/link/verify', { json, headers: { Cookie: second.player.cookie } });
    expect([response.status, Number(response.headers.get('Retry-After')) > 0, reads() - before]).toEqual([429, true, 0]);
  } finally {
    await api.close();
  }
});

test('when X fails, verify gives 503, and the same challenge works afterwards', async () => {
  const { player, text } = await challenged();
  const postId = t.x.post(t.x.user(), text);
  for (const fault of [{ status: 500 }, { status: 401 }, { status: 403 }, { status: 429 }, { status: 200, body: 'a post' }, 'drops'] as const) {
    t.x.fail('/2/tweets/', fault);
    const { status, headers } = await verify(player, { postId });
    expect([status, Number(headers.get('Retry-After')) > 0]).toEqual([503, true]);
  }
  t.x.fail('/2/tweets/', { status: 404 });
  expect(await verify(player, { postId })).toMatchObject(UNSEEN);
  t.x.clearFaults();
  expect(await verify(player, { postId })).toMatchObject({ status: 200 });
});

test('after unlinking, only the same wallet can link the account during the cooldown', async () => {
  const [player, other] = [await signIn(t), await signIn(t)];
  const user = t.x.user();
  const remove = () => request(player, '/auth/social/link/x', { method: 'DELETE' });
  const none = { status: 404, body: { error: 'the wallet has no linked account of X' } };
  expect(await remove()).toMatchObject(none);
  for (const platform of ['%01', 'X', 'x'.repeat(33)])
    expect((await request(player, `/auth/social/link/${platform}`, { method: 'DELETE' })).status).toBe(404);
  expect(await linkX(t, player, user)).toMatchObject({ status: 200 });
  expect(await remove()).toMatchObject({ status: 204, body: null });
  expect(await remove()).toMatchObject(none);
  expect((await request(player, '/api/profile')).body.linkedAccounts).toEqual([]);
  expect(await linkX(t, other, user)).toMatchObject({
    status: 409,
    body: {
      error: expect.stringMatching(/^another wallet unlinked the account recently; it can be linked to this wallet from 20\d\d-\d\d-\d\d on$/),
    },
  });
  expect(await linkX(t, player, user)).toMatchObject({ status: 200 });
  expect(await remove()).toMatchObject({ status: 204 });
  await sql(t.app, `update unlinked_accounts set unlinked_at = unlinked_at - interval '30 days' where account_id = $1`, [user.id]);
  expect(await linkX(t, other, user)).toMatchObject({ status: 200 });
  // The activity `link` is recorded only for the first link.
  expect([await engagementsOf(t, player.wallet), await engagementsOf(t, other.wallet)]).toEqual([[`link x:${user.id}`], []]);
  expect((await request({ fetch: (path, init) => fetch(`${t.url}${path}`, init) }, '/auth/social/link/x', { method: 'DELETE' })).status).toBe(401);
});

test('in production the URLs of X must use TLS, and the arcade’s account id is required', () => {
  const read = ({ secret = '', ...env }: Record<string, string>, production = true) =>
    xConfig(
      { ...z.object(XEnvironment).parse(env), PUBLIC_URL: 'https://coinop.test/', PORT: 3_000, WEBHOOK_SECRET_X: secret === '' ? [] : [secret] },
      production,
      (problem) => {
        throw new Error(problem);
      },
    );
  expect(read({ X_CLIENT_ID: 'id' })).toMatchObject({
    apiUrl: 'https://api.x.com',
    client: { id: 'id', secret: null, redirectUrl: 'https://coinop.test/link/x' },
  });
  expect(() => read({ X_API_URL: 'http://api.x.com' })).toThrow('X_API_URL must be https in production');
  expect(() => read({ X_AUTHORIZE_URL: 'http://x.com' })).toThrow('X_AUTHORIZE_URL must be https in production');
  expect(() => read({ X_CLIENT_ID: 'id', X_REDIRECT_URL: 'http://coinop.test' })).toThrow('X_REDIRECT_URL must be https in production');
  expect(() => read({ secret: 'consumer-secret-of-x' })).toThrow('WEBHOOK_SECRET_X needs X_ACCOUNT_ID');
  expect(() => read({ X_CLIENT_SECRET: 'secret' }, false)).toThrow('X_CLIENT_SECRET needs X_CLIENT_ID');
  expect(() => readConfig({ X_ACCOUNT_ID: '@coinop' })).toThrow('must be the numeric id of an account');
  let error = '';
  try {
    readConfig({ X_CLIENT_ID: 'id', X_CLIENT_SECRET: 'hush hush\nsecret', X_BEARER_TOKEN: 'hush hush' });
  } catch (thrown) {
    error = String(thrown);
  }
  expect(error).toContain('X_BEARER_TOKEN');
  expect(error).not.toContain('hush');
});
