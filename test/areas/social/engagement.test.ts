import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { findFollowers, linkAccount, prepareEngagement } from '#areas/social';
import { startApi } from '#test/support/api.ts';
import { sql } from '#test/support/areas/boards.ts';
import {
  ARCADE_ACCOUNT,
  accountActivity as aaa,
  deliverAndReadVerdict,
  deliverX,
  engagementsOf,
  linkX,
  readVerdict,
  request,
  type SocialTest,
  startSocialTest,
  X_SECRET,
  activityEvent as xaa,
} from '#test/support/areas/social.ts';
import { xHeaders } from '#test/support/http/webhook.ts';
import { nextXId, type XUser } from '#test/support/servers/x-server.ts';
import { createWallet, send, signIn } from '#test/support/wallet.ts';

const OLD_SECRET = 'older-consumer-secret-of-x-0123';
let t: SocialTest;
beforeAll(async () => {
  t = await startSocialTest({ env: { QUEUES: 'webhooks', WEBHOOK_SECRET_X: `${X_SECRET},${OLD_SECRET}` } });
});
afterAll(() => t.close());

const DAY_MS = 86_400_000;
const now = () => t.clock.now();
const ago = (ms: number) => new Date(now().getTime() - ms);
/** Creates an X account that is linked to a wallet. */
async function linked(): Promise<{ user: XUser; wallet: string }> {
  const user = t.x.user();
  const { address: wallet } = createWallet();
  await t.app.tx((tx) => linkAccount(tx, { platform: 'x', accountId: user.id, handle: user.username, wallet }));
  return { user, wallet };
}
const handleOf = async ({ id }: XUser) =>
  (await sql<{ handle: string }>(t.app, `select handle from linked_accounts where platform = 'x' and account_id = $1`, [id]))[0]?.handle;
const check = (query: string) => send(t, `/integrations/x/events${query}`);

test('the challenge of X is signed with the newest secret', async () => {
  for (const token of ['9b4507b3-9040-4669-9ca3-6b94edb50553', 'a', `${'Zz09'.repeat(30)}_=+/.-`]) {
    const response = await check(`?crc_token=${encodeURIComponent(token)}&nonce=1`);
    const signature = `sha256=${createHmac('sha256', X_SECRET).update(token).digest('base64')}`;
    expect([response.status, await response.json()]).toEqual([200, { response_token: signature }]);
  }
});

test('a token that could be a delivery is not signed, and a signed token is not accepted as a delivery', async () => {
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

test('a delivery needs a signature with a configured secret; the older secret is accepted, too', async () => {
  const body = xaa.follow(t.x.user());
  expect((await deliverX(t, body, 'another-consumer-secret')).status).toBe(401);
  expect((await send(t, '/integrations/x/events', { json: body })).status).toBe(401);
  const text = JSON.stringify(body);
  expect((await send(t, '/integrations/x/events', { method: 'POST', headers: xHeaders(X_SECRET, text), body: text })).status).toBe(415);
  expect((await deliverX(t, body, OLD_SECRET)).status).toBe(200);
  expect(await readVerdict(t, body)).toBe('worked: pending until the account is linked: follow');
});

test('follow, repost and mention of the Account Activity API are credited to the wallet', async () => {
  const { user, wallet } = await linked();
  const [post, mention] = [nextXId(), nextXId()];
  expect(await deliverAndReadVerdict(t, aaa.delivery({ follow_events: [aaa.follow(user, ARCADE_ACCOUNT, now())] }))).toBe('worked: credited: follow');
  const original = aaa.tweet(ARCADE_ACCOUNT, ago(DAY_MS), {}, post);
  const text = `RT @${ARCADE_ACCOUNT.username}: hello`;
  const repost = aaa.tweet(user, now(), { text, retweeted_status: original, entities: aaa.mentions(3) });
  expect(await deliverAndReadVerdict(t, aaa.delivery({ tweet_create_events: [repost] }))).toBe('worked: credited: repost');
  const mentioning = aaa.tweet(user, now(), { entities: aaa.mentions(4) }, mention);
  expect(await deliverAndReadVerdict(t, aaa.delivery({ user_has_blocked: false, tweet_create_events: [mentioning] }))).toBe(
    'worked: credited: mention',
  );
  expect(await engagementsOf(t, wallet)).toEqual([`follow x:${user.id}`, `mention x:${mention}`, `repost x:${user.id}:${post}`]);
  const amounts = await sql<{ amount: number }>(t.app, 'select amount::int as amount from activities where wallet = $1', [wallet]);
  expect(amounts.every(({ amount }) => amount === 0)).toBe(true);
});

test('follow, repost and mention of the X Activity API are credited to the wallet', async () => {
  const { user, wallet } = await linked();
  const post = nextXId();
  expect(await deliverAndReadVerdict(t, xaa.follow(user))).toBe('worked: credited: follow');
  const retweeted = {
    text: `RT @${ARCADE_ACCOUNT.username}: hello`,
    referenced_tweets: [{ type: 'retweeted', id: post }],
    entities: xaa.mentions(3),
  };
  expect(await deliverAndReadVerdict(t, xaa.post('post.repost.create', user, now(), retweeted, { includes: {} }))).toBe('worked: credited: repost');
  const mention = xaa.post('post.mention.create', user, now(), { entities: xaa.mentions(4) });
  expect(await deliverAndReadVerdict(t, mention)).toBe('worked: credited: mention');
  const { id } = (mention.data as { payload: { id: string } }).payload;
  expect(await engagementsOf(t, wallet)).toEqual([`follow x:${user.id}`, `mention x:${id}`, `repost x:${user.id}:${post}`]);
});

test('an engagement counts once when it is delivered twice, repeated after an undo, or delivered by both APIs', async () => {
  const { user, wallet } = await linked();
  const [post, mention] = [nextXId(), nextXId()];
  const follow = aaa.delivery({ follow_events: [aaa.follow(user, ARCADE_ACCOUNT, now())] });
  const original = aaa.tweet(ARCADE_ACCOUNT, ago(DAY_MS), {}, post);
  const bodies = [
    follow,
    aaa.delivery({ follow_events: [aaa.follow(user, ARCADE_ACCOUNT, now(), 'unfollow')] }),
    aaa.delivery({ follow_events: [aaa.follow(user, ARCADE_ACCOUNT, ago(-5_000)), aaa.follow(user, ARCADE_ACCOUNT, ago(-6_000))] }),
    xaa.follow(user),
    ...Array.from({ length: 3 }, () => aaa.delivery({ tweet_create_events: [aaa.tweet(user, now(), { retweeted_status: original })] })),
    xaa.post('post.repost.create', user, now(), { referenced_tweets: [{ type: 'retweeted', id: post }] }),
    aaa.delivery({ tweet_create_events: [aaa.tweet(user, now(), { entities: aaa.mentions(0) }, mention)] }),
    // An edited post has its own id, and its history contains the id of the first version.
    aaa.delivery({ tweet_create_events: [aaa.tweet(user, now(), { entities: aaa.mentions(0), edit_history: { initial_tweet_id: mention } })] }),
    ...Array.from({ length: 3 }, () => xaa.post('post.mention.create', user, now(), { id: mention, edit_history_tweet_ids: [mention] })),
    xaa.post('post.mention.create', user, now(), { edit_history_tweet_ids: [mention, nextXId()] }),
  ];
  await Promise.all([...bodies, ...bodies].map((body) => deliverAndReadVerdict(t, body)));
  expect((await deliverX(t, follow)).status).toBe(200);
  expect(await engagementsOf(t, wallet)).toEqual([`follow x:${user.id}`, `mention x:${mention}`, `repost x:${user.id}:${post}`]);
});

test('a mention counts when the author wrote it: not in a repost, and not implicitly in a reply', async () => {
  const { user, wallet } = await linked();
  const other = t.x.user();
  const reply = { in_reply_to_user_id: ARCADE_ACCOUNT.id, display_text_range: [14, 45], referenced_tweets: [{ type: 'replied_to', id: nextXId() }] };
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
  expect(await deliverAndReadVerdict(t, aaa.delivery({ tweet_create_events: [long] }))).toBe('worked: credited: mention');
  for (const body of counted) expect(await deliverAndReadVerdict(t, body)).toBe('worked: credited: mention');
  for (const body of passed)
    expect(await deliverAndReadVerdict(t, body)).toMatch(/^worked: ignored: a (?:post without a mention of the arcade|repost of another account)$/);
  expect(await engagementsOf(t, wallet)).toEqual([...counted.map(named), long.id_str].map((id) => `mention x:${id}`).toSorted());
});

test('a repost from another user’s subscription counts only when X includes the original author', async () => {
  const { user, wallet } = await linked();
  const post = nextXId();
  const payload = { referenced_tweets: [{ type: 'retweeted', id: post }] };
  const from = (author: XUser) => ({ filter: { user_id: user.id }, includes: { tweets: [{ id: post, author_id: author.id }] } });
  expect(await deliverAndReadVerdict(t, xaa.post('post.create', user, now(), payload, from(t.x.user())))).toBe(
    'worked: ignored: a repost of another account',
  );
  expect(await deliverAndReadVerdict(t, xaa.post('post.create', user, now(), payload, from(ARCADE_ACCOUNT)))).toBe('worked: credited: repost');
  expect(await engagementsOf(t, wallet)).toEqual([`repost x:${user.id}:${post}`]);
});

test('a wallet follows the arcade from a follow until an unfollow or unlinking, whatever the order of the reports', async () => {
  const [player, user] = [await signIn(t), t.x.user()];
  const { wallet } = player;
  await linkX(t, player, user);
  const follows = async () => (await findFollowers(t.app.db, [wallet])).has(wallet);
  const report = (at: Date, type?: 'unfollow') =>
    deliverAndReadVerdict(t, aaa.delivery({ follow_events: [aaa.follow(user, ARCADE_ACCOUNT, at, type)] }));
  expect(await follows()).toBe(false);
  expect(await report(ago(50_000))).toBe('worked: credited: follow');
  expect(await follows()).toBe(true);
  expect(await report(ago(30_000), 'unfollow')).toBe('worked: recorded: unfollow');
  expect(await follows()).toBe(false);
  // A report about an earlier time arrives late.
  await report(ago(40_000));
  expect(await follows()).toBe(false);
  await sql(t.app, 'delete from quest_checks');
  await report(ago(10_000));
  expect(await follows()).toBe(true);
  // The repeated follow is no new activity, so a check of the wallet is requested.
  expect(await sql(t.app, 'select wallet, quest_id from quest_checks')).toEqual([{ wallet, quest_id: '' }]);
  await report(ago(20_000), 'unfollow');
  expect(await follows()).toBe(true);
  expect((await request(player, '/auth/social/link/x', { method: 'DELETE' })).status).toBe(204);
  expect(await follows()).toBe(false);
  await linkX(t, player, user);
  expect(await follows()).toBe(true);
  expect(await engagementsOf(t, wallet)).toEqual([`follow x:${user.id}`, `link x:${user.id}`]);
});

test('an unfollow before the account is linked deletes the pending follow', async () => {
  const user = t.x.user();
  await deliverAndReadVerdict(t, xaa.follow(user));
  const unfollow = xaa.of('follow.unfollow', { source: { data: xaa.user(user) }, target: { data: xaa.user(ARCADE_ACCOUNT) } });
  expect(await deliverAndReadVerdict(t, unfollow)).toBe('worked: recorded: unfollow');
  expect(await sql(t.app, 'select kind from kept_engagements where account_id = $1', [user.id])).toEqual([]);
});

test('events of other kinds, other accounts or more than 7 days ago are ignored, with a verdict', async () => {
  const { user, wallet } = await linked();
  const other = t.x.user();
  const cases: [Record<string, unknown>, string][] = [
    [aaa.delivery({ favorite_events: [{ id: 'a', user: aaa.user(user) }] }), 'favorite_events'],
    [aaa.delivery({ tweet_delete_events: [{ status: { id: '1', user_id: user.id } }] }), 'tweet_delete_events'],
    [{ user_event: { revoke: { source: { user_id: user.id } } } }, 'user_event'],
    [aaa.delivery({ follow_events: [aaa.follow(ARCADE_ACCOUNT, user, now(), 'unfollow')] }), 'an unfollow of another account'],
    [aaa.delivery({ follow_events: [aaa.follow(ARCADE_ACCOUNT, user, now())] }), 'a follow of another account'],
    [xaa.follow(user, other), 'a follow of another account'],
    [aaa.delivery({ follow_events: [aaa.follow(user, ARCADE_ACCOUNT, ago(7 * DAY_MS + 60_000))] }), 'a follow older than 7 days'],
    [aaa.delivery({ tweet_create_events: [aaa.tweet(ARCADE_ACCOUNT, now(), { entities: aaa.mentions(0) })] }), 'a post of the arcade'],
    [aaa.delivery({ tweet_create_events: [aaa.tweet(user, now())] }), 'a post without a mention of the arcade'],
    [xaa.post('post.mention.create', user, ago(8 * DAY_MS)), 'a post older than 7 days'],
    [xaa.of('like.create', { id: 'a', liked_tweet_author_id: ARCADE_ACCOUNT.id }), 'like.create'],
    [xaa.of('follow.unfollow', {}), 'an unreadable follow.unfollow'],
    [{ data: 'nothing' }, 'an unreadable event'],
    [xaa.of('post.mention.create', { id: 'one' }), 'an unreadable post.mention.create'],
    [xaa.of('follow.follow', { source: {} }), 'an unreadable follow.follow'],
    [aaa.delivery({ tweet_create_events: 'all' }), 'unreadable tweet_create_events'],
  ];
  for (const [body, ignored] of cases) expect(await deliverAndReadVerdict(t, body)).toBe(`worked: ignored: ${ignored}`);
  expect(await deliverAndReadVerdict(t, {})).toBe('worked: no events');
  expect(await engagementsOf(t, wallet)).toEqual([]);
});

test('unreadable events do not affect the other events of a delivery', async () => {
  const { user, wallet } = await linked();
  const good = aaa.tweet(user, now(), {
    entities: { user_mentions: [{ id_str: '../', indices: [0] }, 7, { ...aaa.user(ARCADE_ACCOUNT), indices: [0, 13] }] },
  });
  const bad = [null, 'x', {}, { ...good, id_str: 1 }, { ...good, user: null }, { ...good, created_at: 'once' }];
  const body = aaa.delivery({
    tweet_create_events: [...bad, good],
    follow_events: [{ type: 'follow' }, aaa.follow(user, ARCADE_ACCOUNT, now())],
    favorite_events: [],
  });
  expect(await deliverAndReadVerdict(t, body)).toBe(
    'worked: credited: follow, mention; ignored: 6 an unreadable post, an unreadable follow, favorite_events',
  );
  expect(await engagementsOf(t, wallet)).toEqual([`follow x:${user.id}`, `mention x:${good.id_str}`]);
});

test('a handle is updated with its account, and a search finds the latest owner of the handle', async () => {
  const [first, second] = [await linked(), await linked()];
  const resolve = async (handle: string) =>
    ((await (await send(t, '/api/wallet/resolve', { json: { identifier: `@${handle}` } })).json()) as { wallet?: string }).wallet;
  const renamed = { ...first.user, username: `${first.user.username}_2` };
  await deliverAndReadVerdict(t, aaa.delivery({ tweet_create_events: [aaa.tweet(renamed, ago(-2_000))] }));
  expect(await handleOf(renamed)).toBe(renamed.username);
  // An older delivery does not restore the old handle; an invalid handle is ignored.
  await deliverAndReadVerdict(t, aaa.delivery({ tweet_create_events: [aaa.tweet(first.user, ago(60_000))] }));
  await deliverAndReadVerdict(t, xaa.follow({ ...first.user, username: 'no name' }));
  expect(await handleOf(renamed)).toBe(renamed.username);
  await t.clock.set(ago(-7_200_000));
  await deliverAndReadVerdict(
    t,
    xaa.of('profile.update.handle', { before: second.user.username, after: `@${renamed.username}` }, { filter: { user_id: second.user.id } }),
  );
  expect([await handleOf(second.user), await resolve(renamed.username)]).toEqual([renamed.username, second.wallet]);
  // The first account has the handle again. Only the time of confirmation changes.
  await t.clock.set(ago(-7_200_000));
  await deliverAndReadVerdict(t, xaa.follow(renamed));
  expect(await resolve(renamed.username.toUpperCase())).toBe(first.wallet);
});

test('without X_ACCOUNT_ID, deliveries are retried later', async () => {
  const { X_ACCOUNT_ID: _, ...env } = t.env;
  const api = await startApi(env, t.clock);
  try {
    const work = await prepareEngagement(api.app, xaa.follow(t.x.user()), { delivery: { source: 'x', id: 'a' }, at: now().toISOString() });
    expect(await api.app.tx(work)).toEqual({ outcome: 'retry', verdict: 'X_ACCOUNT_ID is not configured' });
  } finally {
    await api.close();
  }
});
