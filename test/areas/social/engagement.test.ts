import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { linkAccount, prepareEngagement } from '#areas/social';
import { startApi } from '#test/support/api.ts';
import { sql } from '#test/support/areas/boards.ts';
import {
  accountActivity as aaa,
  deedsOf,
  deliverX,
  type SocialTest,
  startSocialTest,
  US,
  verdictOf,
  verdictOn,
  X_SECRET,
  activityEvent as xaa,
} from '#test/support/areas/social.ts';
import { xHeaders } from '#test/support/http/webhook.ts';
import { nextXId, type XUser } from '#test/support/servers/x-server.ts';
import { createWallet, send } from '#test/support/wallet.ts';

const OLD_SECRET = 'older-consumer-secret-of-x-0123';
let t: SocialTest;
beforeAll(async () => {
  t = await startSocialTest({ env: { QUEUES: 'webhooks', WEBHOOK_SECRET_X: `${X_SECRET},${OLD_SECRET}` } });
});
afterAll(() => t.close());

const DAY_MS = 86_400_000;
const now = () => t.clock.now();
const ago = (ms: number) => new Date(now().getTime() - ms);
/** An account that a wallet has linked. */
async function linked(): Promise<{ user: XUser; wallet: string }> {
  const user = t.x.user();
  const { address: wallet } = createWallet();
  await t.app.tx((tx) => linkAccount(tx, { platform: 'x', accountId: user.id, handle: user.username, wallet }));
  return { user, wallet };
}
const handleOf = async ({ id }: XUser) =>
  (await sql<{ handle: string }>(t.app, `select handle from linked_accounts where platform = 'x' and account_id = $1`, [id]))[0]?.handle;
const check = (query: string) => send(t, `/integrations/x/events${query}`);

test('X’s challenge is answered under the newest secret', async () => {
  for (const token of ['9b4507b3-9040-4669-9ca3-6b94edb50553', 'a', `${'Zz09'.repeat(30)}_=+/.-`]) {
    const response = await check(`?crc_token=${encodeURIComponent(token)}&nonce=1`);
    const signature = `sha256=${createHmac('sha256', X_SECRET).update(token).digest('base64')}`;
    expect([response.status, await response.json()]).toEqual([200, { response_token: signature }]);
  }
});

test('nothing is signed that could be a delivery, and nothing that may be signed is one', async () => {
  const refused = { error: 'crc_token must be 1 to 128 of A-Z a-z 0-9 _ = + / . -' };
  for (const token of ['{"for_user_id":"1"}', '', 'x'.repeat(129), 'a b', '[1]', '"a"', 'é']) {
    const response = await check(`?crc_token=${encodeURIComponent(token)}`);
    expect([response.status, await response.json()]).toEqual([400, refused]);
  }
  for (const query of ['', '?crc_token=a&crc_token=b']) expect((await check(query)).status).toBe(400);
  for (const token of ['12345', 'null', 'true', '1e3']) {
    const { response_token } = (await (await check(`?crc_token=${encodeURIComponent(token)}`)).json()) as { response_token: string };
    const headers = { 'Content-Type': 'application/json', 'x-twitter-webhooks-signature': response_token };
    expect((await send(t, '/integrations/x/events', { method: 'POST', headers, body: token })).status).toBe(400);
  }
});

test('who does not hold the secret delivers nothing; the older one is good, too', async () => {
  const body = xaa.follow(t.x.user());
  expect((await deliverX(t, body, 'another-consumer-secret')).status).toBe(401);
  expect((await send(t, '/integrations/x/events', { json: body })).status).toBe(401);
  const text = JSON.stringify(body);
  expect((await send(t, '/integrations/x/events', { method: 'POST', headers: xHeaders(X_SECRET, text), body: text })).status).toBe(415);
  expect((await deliverX(t, body, OLD_SECRET)).status).toBe(200);
  expect(await verdictOf(t, body)).toBe('worked: kept until the account is linked: follow');
});

test('follow, repost and mention are the wallet’s, by the Account Activity API', async () => {
  const { user, wallet } = await linked();
  const [post, mention] = [nextXId(), nextXId()];
  expect(await verdictOn(t, aaa.delivery({ follow_events: [aaa.follow(user, US, now())] }))).toBe('worked: credited: follow');
  const original = aaa.tweet(US, ago(DAY_MS), {}, post);
  const text = `RT @${US.username}: hello`;
  const repost = aaa.tweet(user, now(), { text, retweeted_status: original, entities: aaa.mentions(3) });
  expect(await verdictOn(t, aaa.delivery({ tweet_create_events: [repost] }))).toBe('worked: credited: repost');
  const mentioning = aaa.tweet(user, now(), { entities: aaa.mentions(4) }, mention);
  expect(await verdictOn(t, aaa.delivery({ user_has_blocked: false, tweet_create_events: [mentioning] }))).toBe('worked: credited: mention');
  expect(await deedsOf(t, wallet)).toEqual([`follow x:${user.id}`, `mention x:${mention}`, `repost x:${user.id}:${post}`]);
  const amounts = await sql<{ amount: number }>(t.app, 'select amount::int as amount from activities where wallet = $1', [wallet]);
  expect(amounts.every(({ amount }) => amount === 0)).toBe(true);
});

test('and by the X Activity API', async () => {
  const { user, wallet } = await linked();
  const post = nextXId();
  expect(await verdictOn(t, xaa.follow(user))).toBe('worked: credited: follow');
  const retweeted = { text: `RT @${US.username}: hello`, referenced_tweets: [{ type: 'retweeted', id: post }], entities: xaa.mentions(3) };
  expect(await verdictOn(t, xaa.post('post.repost.create', user, now(), retweeted, { includes: {} }))).toBe('worked: credited: repost');
  const mention = xaa.post('post.mention.create', user, now(), { entities: xaa.mentions(4) });
  expect(await verdictOn(t, mention)).toBe('worked: credited: mention');
  const { id } = (mention.data as { payload: { id: string } }).payload;
  expect(await deedsOf(t, wallet)).toEqual([`follow x:${user.id}`, `mention x:${id}`, `repost x:${user.id}:${post}`]);
});

test('what is told again, taken back and done again, or told by both APIs, counts once', async () => {
  const { user, wallet } = await linked();
  const [post, mention] = [nextXId(), nextXId()];
  const follow = aaa.delivery({ follow_events: [aaa.follow(user, US, now())] });
  const original = aaa.tweet(US, ago(DAY_MS), {}, post);
  const bodies = [
    follow,
    aaa.delivery({ follow_events: [aaa.follow(user, US, now(), 'unfollow')] }),
    aaa.delivery({ follow_events: [aaa.follow(user, US, ago(-5_000)), aaa.follow(user, US, ago(-6_000))] }),
    xaa.follow(user),
    ...Array.from({ length: 3 }, () => aaa.delivery({ tweet_create_events: [aaa.tweet(user, now(), { retweeted_status: original })] })),
    xaa.post('post.repost.create', user, now(), { referenced_tweets: [{ type: 'retweeted', id: post }] }),
    aaa.delivery({ tweet_create_events: [aaa.tweet(user, now(), { entities: aaa.mentions(0) }, mention)] }),
    // Edited: a post of its own, with the history of the first.
    aaa.delivery({ tweet_create_events: [aaa.tweet(user, now(), { entities: aaa.mentions(0), edit_history: { initial_tweet_id: mention } })] }),
    ...Array.from({ length: 3 }, () => xaa.post('post.mention.create', user, now(), { id: mention, edit_history_tweet_ids: [mention] })),
    xaa.post('post.mention.create', user, now(), { edit_history_tweet_ids: [mention, nextXId()] }),
  ];
  await Promise.all([...bodies, ...bodies].map((body) => verdictOn(t, body)));
  expect((await deliverX(t, follow)).status).toBe(200);
  expect(await deedsOf(t, wallet)).toEqual([`follow x:${user.id}`, `mention x:${mention}`, `repost x:${user.id}:${post}`]);
});

test('a mention is where its author names us: not in a repost, nor by being a reply', async () => {
  const { user, wallet } = await linked();
  const other = t.x.user();
  const reply = { in_reply_to_user_id: US.id, display_text_range: [14, 45], referenced_tweets: [{ type: 'replied_to', id: nextXId() }] };
  const named = ({ data }: Record<string, unknown>) => (data as { payload: { id: string } }).payload.id;
  const counted = [
    xaa.post('post.reply.create', user, now(), { ...reply, entities: xaa.mentions(20) }),
    xaa.post('post.quote.create', user, now(), { referenced_tweets: [{ type: 'quoted', id: nextXId() }], entities: xaa.mentions(0) }),
    xaa.post(
      'post.create',
      user,
      now(),
      { entities: { mentions: [] }, note_tweet: { entities: xaa.mentions(900) } },
      { filter: { user_id: user.id } },
    ),
  ];
  const passed = [
    xaa.post('post.reply.create', user, now(), { ...reply, entities: xaa.mentions(0) }),
    xaa.post('post.quote.create', user, now(), { referenced_tweets: [{ type: 'quoted', id: nextXId() }] }),
    xaa.post('post.create', user, now(), { referenced_tweets: [{ type: 'retweeted', id: nextXId() }], entities: xaa.mentions(30) }),
    xaa.post('post.mention.create', user, now(), { entities: xaa.mentions(4, other) }, { filter: { user_id: other.id } }),
  ];
  const long = aaa.tweet(user, now(), { truncated: true, extended_tweet: { display_text_range: [0, 2_000], entities: aaa.mentions(1_900) } });
  expect(await verdictOn(t, aaa.delivery({ tweet_create_events: [long] }))).toBe('worked: credited: mention');
  for (const body of counted) expect(await verdictOn(t, body)).toBe('worked: credited: mention');
  for (const body of passed) expect(await verdictOn(t, body)).toMatch(/^worked: ignored: a (?:post that does not name us|repost that is not of us)$/);
  expect(await deedsOf(t, wallet)).toEqual([...counted.map(named), long.id_str].map((id) => `mention x:${id}`).toSorted());
});

test('a repost that somebody was subscribed for is one of ours where X says whose it was', async () => {
  const { user, wallet } = await linked();
  const post = nextXId();
  const payload = { referenced_tweets: [{ type: 'retweeted', id: post }] };
  const from = (author: XUser) => ({ filter: { user_id: user.id }, includes: { tweets: [{ id: post, author_id: author.id }] } });
  expect(await verdictOn(t, xaa.post('post.create', user, now(), payload, from(t.x.user())))).toBe('worked: ignored: a repost that is not of us');
  expect(await verdictOn(t, xaa.post('post.create', user, now(), payload, from(US)))).toBe('worked: credited: repost');
  expect(await deedsOf(t, wallet)).toEqual([`repost x:${user.id}:${post}`]);
});

test('what is not of others doing these things to us, or long ago, is done with', async () => {
  const { user, wallet } = await linked();
  const other = t.x.user();
  const cases: [Record<string, unknown>, string][] = [
    [aaa.delivery({ favorite_events: [{ id: 'a', user: aaa.user(user) }] }), 'favorite_events'],
    [aaa.delivery({ tweet_delete_events: [{ status: { id: '1', user_id: user.id } }] }), 'tweet_delete_events'],
    [{ user_event: { revoke: { source: { user_id: user.id } } } }, 'user_event'],
    [aaa.delivery({ follow_events: [aaa.follow(user, US, now(), 'unfollow')] }), 'unfollow'],
    [aaa.delivery({ follow_events: [aaa.follow(US, user, now())] }), 'a follow that is not of us'],
    [xaa.follow(user, other), 'a follow that is not of us'],
    [aaa.delivery({ follow_events: [aaa.follow(user, US, ago(7 * DAY_MS + 60_000))] }), 'a follow of long ago'],
    [aaa.delivery({ tweet_create_events: [aaa.tweet(US, now(), { entities: aaa.mentions(0) })] }), 'a post of our own'],
    [aaa.delivery({ tweet_create_events: [aaa.tweet(user, now())] }), 'a post that does not name us'],
    [xaa.post('post.mention.create', user, ago(8 * DAY_MS)), 'a post of long ago'],
    [xaa.of('like.create', { id: 'a', liked_tweet_author_id: US.id }), 'like.create'],
    [xaa.of('follow.unfollow', {}), 'follow.unfollow'],
    [{ data: 'nothing' }, 'an unreadable event'],
    [xaa.of('post.mention.create', { id: 'one' }), 'an unreadable post.mention.create'],
    [xaa.of('follow.follow', { source: {} }), 'an unreadable follow.follow'],
    [aaa.delivery({ tweet_create_events: 'all' }), 'unreadable tweet_create_events'],
  ];
  for (const [body, ignored] of cases) expect(await verdictOn(t, body)).toBe(`worked: ignored: ${ignored}`);
  expect(await verdictOn(t, {})).toBe('worked: it tells nothing');
  expect(await deedsOf(t, wallet)).toEqual([]);
});

test('what cannot be read holds up nothing else', async () => {
  const { user, wallet } = await linked();
  const good = aaa.tweet(user, now(), { entities: { user_mentions: [{ id_str: '../', indices: [0] }, 7, { ...aaa.user(US), indices: [0, 13] }] } });
  const bad = [null, 'x', {}, { ...good, id_str: 1 }, { ...good, user: null }, { ...good, created_at: 'once' }];
  const body = aaa.delivery({
    tweet_create_events: [...bad, good],
    follow_events: [{ type: 'follow' }, aaa.follow(user, US, now())],
    favorite_events: [],
  });
  expect(await verdictOn(t, body)).toBe('worked: credited: follow, mention; ignored: 6 an unreadable post, an unreadable follow, favorite_events');
  expect(await deedsOf(t, wallet)).toEqual([`follow x:${user.id}`, `mention x:${good.id_str}`]);
});

test('a handle follows its account, and the last to have it is found', async () => {
  const [first, second] = [await linked(), await linked()];
  const resolve = async (handle: string) =>
    ((await (await send(t, '/api/wallet/resolve', { json: { identifier: `@${handle}` } })).json()) as { wallet?: string }).wallet;
  const renamed = { ...first.user, username: `${first.user.username}_2` };
  await verdictOn(t, aaa.delivery({ tweet_create_events: [aaa.tweet(renamed, ago(-2_000))] }));
  expect(await handleOf(renamed)).toBe(renamed.username);
  // What is told late does not bring the old name back; what is no name is none.
  await verdictOn(t, aaa.delivery({ tweet_create_events: [aaa.tweet(first.user, ago(60_000))] }));
  await verdictOn(t, xaa.follow({ ...first.user, username: 'no name' }));
  expect(await handleOf(renamed)).toBe(renamed.username);
  await t.clock.set(ago(-7_200_000));
  await verdictOn(
    t,
    xaa.of('profile.update.handle', { before: second.user.username, after: `@${renamed.username}` }, { filter: { user_id: second.user.id } }),
  );
  expect([await handleOf(second.user), await resolve(renamed.username)]).toEqual([renamed.username, second.wallet]);
  // The first one has it back: nothing changes but that it is known anew.
  await t.clock.set(ago(-7_200_000));
  await verdictOn(t, xaa.follow(renamed));
  expect(await resolve(renamed.username.toUpperCase())).toBe(first.wallet);
});

test('while it is not configured who we are, deliveries wait', async () => {
  const { X_ACCOUNT_ID: _, ...env } = t.env;
  const api = await startApi(env, t.clock);
  try {
    const work = await prepareEngagement(api.app, xaa.follow(t.x.user()), { delivery: { source: 'x', id: 'a' }, at: now().toISOString() });
    expect(await api.app.tx(work)).toEqual({ outcome: 'again', verdict: 'X_ACCOUNT_ID is not configured' });
  } finally {
    await api.close();
  }
});
