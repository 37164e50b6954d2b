import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { prepareEngagement, purgeExpiredSocial } from '#areas/social';
import { confirmLink } from '#areas/social/link.ts';
import { sql } from '#test/support/areas/boards.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { deleteAllQuests, earned, makeQuest, ownQuest } from '#test/support/areas/quests.ts';
import {
  ARCADE_ACCOUNT,
  accountActivity as aaa,
  deliverAndReadVerdict,
  engagementsOf,
  linkX,
  type ParsedResponse,
  request,
  type SocialTest,
  start,
  startSocialTest,
  activityEvent as xaa,
} from '#test/support/areas/social.ts';
import { nextXId, type XUser } from '#test/support/servers/x-server.ts';
import { createWallet, signIn } from '#test/support/wallet.ts';

let t: SocialTest;
beforeAll(async () => {
  t = await startSocialTest({ env: { QUEUES: 'webhooks,points' } });
});
afterAll(() => t.close());

const now = () => t.clock.now();
const later = (days: number) => t.clock.set(new Date(now().getTime() + days * 86_400_000));
const countPending = async ({ id }: XUser) =>
  (await sql<{ n: number }>(t.app, 'select count(*)::int as n from kept_engagements where account_id = $1', [id]))[0]?.n;
/** Builds a delivery with a number of mentions per account. */
const mentions = (...by: (readonly [XUser, number])[]) =>
  aaa.delivery({
    tweet_create_events: by.flatMap(([user, n]) => Array.from({ length: n }, () => aaa.tweet(user, now(), { entities: aaa.mentions(0) }))),
  });
/** Parses a delivery and returns the function that applies it, as the worker does. */
const work = async (body: unknown) => await prepareEngagement(t.app, body, { delivery: { source: 'x', id: 'a' }, at: now().toISOString() });
/** Waits until a transaction of this database waits for the lock of an account. */
async function untilLockIsAwaited(): Promise<void> {
  const waiting = `select count(*)::int as n from pg_locks
    where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())`;
  await retryUntilPass(async () => expect((await t.app.db.query<{ n: number }>({ text: waiting }))[0]?.n).toBeGreaterThan(0), 60_000);
}

test('linking an account completes the quests whose engagements happened before', async () => {
  await deleteAllQuests(t.app);
  const follow = await makeQuest(t, { title: 'Follow us', requirement: { type: 'follow' }, points: 50 });
  const both = await makeQuest(t, {
    requirement: {
      all: [
        { type: 'repost', count: 2 },
        { type: 'mention', count: 1 },
      ],
    },
    points: 70,
  });
  const player = await signIn(t);
  const user = t.x.user();
  const post = aaa.tweet(ARCADE_ACCOUNT, now());
  const repost = (of: object) => aaa.delivery({ tweet_create_events: [aaa.tweet(user, now(), { retweeted_status: of })] });
  for (const body of [xaa.follow(user), aaa.delivery({ follow_events: [aaa.follow(user, ARCADE_ACCOUNT, now())] }), repost(post), repost(post)])
    await deliverAndReadVerdict(t, body);
  await deliverAndReadVerdict(t, xaa.post('post.mention.create', user, now()));
  expect(await countPending(user)).toBe(3);

  expect(await linkX(t, player, user)).toMatchObject({ status: 200 });
  expect(await countPending(user)).toBe(0);
  expect((await engagementsOf(t, player.wallet)).map((one) => one.split(' ')[0])).toEqual(['follow', 'link', 'mention', 'repost']);
  await retryUntilPass(async () => expect(await ownQuest(player, follow)).toMatchObject({ completed: true }), 60_000);
  expect(await ownQuest(player, both)).toMatchObject({ completed: false, missing: ['1 more repost'] });
  // A later engagement is credited at once.
  await deliverAndReadVerdict(t, repost(aaa.tweet(ARCADE_ACCOUNT, now())));
  await retryUntilPass(async () => expect(await ownQuest(player, both)).toMatchObject({ completed: true }), 60_000);
  expect(Object.keys(await earned(t.app, player.wallet)).map((source) => source.split(':')[0])).toEqual([follow, both].toSorted());
});

test('of an unlinked account, 100 engagements stay pending for 90 days', async () => {
  const [user, other] = [t.x.user(), t.x.user()];
  expect(await deliverAndReadVerdict(t, mentions([user, 60]))).toBe('worked: pending until the account is linked: 60 mention');
  const more = mentions([user, 60], [other, 2]);
  expect(await deliverAndReadVerdict(t, more)).toBe('worked: pending until the account is linked: 42 mention; duplicate or over the limit: 20');
  expect([await countPending(user), await countPending(other)]).toEqual([100, 2]);
  await later(90);
  await deliverAndReadVerdict(t, xaa.follow(other));
  // An expired engagement is not credited, even before it is deleted.
  const player = await signIn(t);
  expect(await linkX(t, player, other)).toMatchObject({ status: 200 });
  expect(await engagementsOf(t, player.wallet)).toEqual([`follow x:${other.id}`, `link x:${other.id}`]);
  await sql(t.app, `insert into unlinked_accounts select 'x', 'gone', $1, app_now() - interval '30 days'`, [player.wallet]);
  await start(player);
  await start(player);
  await sql(t.app, `update link_attempts set expires_at = app_now() where key = (select key from link_attempts where used_at is null limit 1)`);
  while (await t.app.tx(purgeExpiredSocial));
  const [remaining] = await sql<{ pending: number; unlinked: number; attempts: number }>(
    t.app,
    `select (select count(*)::int from kept_engagements where account_id = $1) as pending, (select count(*)::int from unlinked_accounts where account_id = 'gone') as unlinked,
       (select count(*)::int from link_attempts where wallet = $2) as attempts`,
    [user.id, player.wallet],
  );
  expect(remaining).toEqual({ pending: 0, unlinked: 0, attempts: 2 });
});

test('an engagement counts once, even when another wallet links the account later', async () => {
  const [player, other] = [await signIn(t), createWallet()];
  const user = t.x.user();
  const follow = () => deliverAndReadVerdict(t, xaa.follow(user));
  const unlink = async (by: typeof player) => expect((await request(by, '/auth/social/link/x', { method: 'DELETE' })).status).toBe(204);
  await linkX(t, player, user);
  await follow();
  await unlink(player);
  await follow();
  await deliverAndReadVerdict(t, mentions([user, 1]));
  await linkX(t, player, user);
  const all = await engagementsOf(t, player.wallet);
  expect(all.map((one) => one.split(' ')[0])).toEqual(['follow', 'link', 'mention']);
  await unlink(player);
  await follow();
  await later(31);
  const again = await signIn(t, other);
  expect(await linkX(t, again, user)).toMatchObject({ status: 200 });
  await follow();
  expect([await engagementsOf(t, again.wallet), await engagementsOf(t, player.wallet)]).toEqual([[], all]);
});

test('linking waits for a delivery of the same account and credits its pending engagements', async () => {
  const player = await signIn(t);
  const user = t.x.user();
  let linking: Promise<ParsedResponse> | undefined;
  const apply = await work(xaa.follow(user));
  await t.app.tx(async (tx) => {
    expect(await apply(tx)).toMatchObject({ verdict: 'pending until the account is linked: follow' });
    linking = linkX(t, player, user);
    await untilLockIsAwaited();
  });
  expect(await linking).toMatchObject({ status: 200 });
  expect(await engagementsOf(t, player.wallet)).toEqual([`follow x:${user.id}`, `link x:${user.id}`]);
  expect(await countPending(user)).toBe(0);
});

test('a delivery waits for a concurrent link of its account and credits the engagements', async () => {
  const { address: wallet } = createWallet();
  const user = t.x.user();
  const body = xaa.follow(user);
  let verdict: Promise<string> | undefined;
  await t.app.tx(async (tx) => {
    await confirmLink(tx, { platform: 'x', accountId: user.id, handle: user.username, wallet });
    verdict = deliverAndReadVerdict(t, body);
    await untilLockIsAwaited();
  });
  expect(await verdict).toBe('worked: credited: follow');
  expect(await engagementsOf(t, wallet)).toEqual([`follow x:${user.id}`, `link x:${user.id}`]);
});

test('twenty accounts linked during deliveries get every engagement once', async () => {
  const pairs = await Promise.all(Array.from({ length: 20 }, async () => ({ player: await signIn(t), user: t.x.user() })));
  const posts = Array.from({ length: 5 }, nextXId);
  // Every delivery contains all accounts, in a different order.
  const bodies = posts.map((post, i) => {
    const tweets = pairs.map(({ user }) => aaa.tweet(user, now(), { retweeted_status: aaa.tweet(ARCADE_ACCOUNT, now(), {}, post) }));
    const follows = pairs.map(({ user }) => aaa.follow(user, ARCADE_ACCOUNT, now()));
    return aaa.delivery({ tweet_create_events: i % 2 ? tweets.toReversed() : tweets, follow_events: i % 2 ? follows : follows.toReversed() });
  });
  await Promise.all([...pairs.map(({ player, user }) => linkX(t, player, user)), ...bodies.map((body) => deliverAndReadVerdict(t, body))]);
  for (const { player, user } of pairs) {
    expect(await engagementsOf(t, player.wallet)).toEqual(
      [`follow x:${user.id}`, `link x:${user.id}`, ...posts.map((post) => `repost x:${user.id}:${post}`)].toSorted(),
    );
    expect(await countPending(user)).toBe(0);
  }
});
