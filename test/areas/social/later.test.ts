import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { expireSocial, prepareEngagement } from '#areas/social';
import { confirmLink } from '#areas/social/link.ts';
import { sql } from '#test/support/areas/boards.ts';
import { eventually } from '#test/support/areas/player.ts';
import { earned, makeQuest, noQuests, ownQuest } from '#test/support/areas/quests.ts';
import {
  type Answer,
  accountActivity as aaa,
  ask,
  deedsOf,
  linkX,
  type SocialTest,
  start,
  startSocialTest,
  US,
  verdictOn,
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
const kept = async ({ id }: XUser) =>
  (await sql<{ n: number }>(t.app, 'select count(*)::int as n from kept_engagements where account_id = $1', [id]))[0]?.n;
/** A delivery of so many mentions by each of some accounts. */
const mentions = (...by: (readonly [XUser, number])[]) =>
  aaa.delivery({
    tweet_create_events: by.flatMap(([user, n]) => Array.from({ length: n }, () => aaa.tweet(user, now(), { entities: aaa.mentions(0) }))),
  });
/** What a delivery does, as the worker does it. */
const work = async (body: unknown) => await prepareEngagement(t.app, body, { delivery: { source: 'x', id: 'a' }, at: now().toISOString() });
/** Until somebody in this database waits for an account. */
async function untilSomebodyWaits(): Promise<void> {
  const waiting = `select count(*)::int as n from pg_locks
    where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())`;
  await eventually(async () => expect((await t.app.db.query<{ n: number }>({ text: waiting }))[0]?.n).toBeGreaterThan(0), 60_000);
}

test('who has followed, reposted and mentioned before linking completes the quests by linking', async () => {
  await noQuests(t.app);
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
  const post = aaa.tweet(US, now());
  const repost = (of: object) => aaa.delivery({ tweet_create_events: [aaa.tweet(user, now(), { retweeted_status: of })] });
  for (const body of [xaa.follow(user), aaa.delivery({ follow_events: [aaa.follow(user, US, now())] }), repost(post), repost(post)])
    await verdictOn(t, body);
  await verdictOn(t, xaa.post('post.mention.create', user, now()));
  expect(await kept(user)).toBe(3);

  expect(await linkX(t, player, user)).toMatchObject({ status: 200 });
  expect(await kept(user)).toBe(0);
  expect((await deedsOf(t, player.wallet)).map((deed) => deed.split(' ')[0])).toEqual(['follow', 'link', 'mention', 'repost']);
  await eventually(async () => expect(await ownQuest(player, follow)).toMatchObject({ completed: true }), 60_000);
  expect(await ownQuest(player, both)).toMatchObject({ completed: false, missing: ['1 more repost'] });
  // And from now on at once.
  await verdictOn(t, repost(aaa.tweet(US, now())));
  await eventually(async () => expect(await ownQuest(player, both)).toMatchObject({ completed: true }), 60_000);
  expect(Object.keys(await earned(t.app, player.wallet)).map((source) => source.split(':')[0])).toEqual([follow, both].toSorted());
});

test('of an account that nobody links a hundred deeds are kept, for ninety days', async () => {
  const [user, other] = [t.x.user(), t.x.user()];
  expect(await verdictOn(t, mentions([user, 60]))).toBe('worked: kept until the account is linked: 60 mention');
  const more = mentions([user, 60], [other, 2]);
  expect(await verdictOn(t, more)).toBe('worked: kept until the account is linked: 42 mention; known or too much to keep: 20');
  expect([await kept(user), await kept(other)]).toEqual([100, 2]);
  await later(90);
  await verdictOn(t, xaa.follow(other));
  // What is too old counts for nothing, also while nobody has removed it.
  const player = await signIn(t);
  expect(await linkX(t, player, other)).toMatchObject({ status: 200 });
  expect(await deedsOf(t, player.wallet)).toEqual([`follow x:${other.id}`, `link x:${other.id}`]);
  await sql(t.app, `insert into unlinked_accounts select 'x', 'gone', $1, app_now() - interval '30 days'`, [player.wallet]);
  await start(player);
  await start(player);
  await sql(t.app, `update link_attempts set expires_at = app_now() where key = (select key from link_attempts where used_at is null limit 1)`);
  while (await t.app.tx(expireSocial));
  const [left] = await sql<{ kept: number; gone: number; attempts: number }>(
    t.app,
    `select (select count(*)::int from kept_engagements where account_id = $1) as kept, (select count(*)::int from unlinked_accounts where account_id = 'gone') as gone,
       (select count(*)::int from link_attempts where wallet = $2) as attempts`,
    [user.id, player.wallet],
  );
  expect(left).toEqual({ kept: 0, gone: 0, attempts: 2 });
});

test('what an account did counts once, whomever it is linked to later', async () => {
  const [player, other] = [await signIn(t), createWallet()];
  const user = t.x.user();
  const follow = () => verdictOn(t, xaa.follow(user));
  const unlink = async (by: typeof player) => expect((await ask(by, '/auth/social/link/x', { method: 'DELETE' })).status).toBe(204);
  await linkX(t, player, user);
  await follow();
  await unlink(player);
  await follow();
  await verdictOn(t, mentions([user, 1]));
  await linkX(t, player, user);
  const all = await deedsOf(t, player.wallet);
  expect(all.map((deed) => deed.split(' ')[0])).toEqual(['follow', 'link', 'mention']);
  await unlink(player);
  await follow();
  await later(31);
  const again = await signIn(t, other);
  expect(await linkX(t, again, user)).toMatchObject({ status: 200 });
  await follow();
  expect([await deedsOf(t, again.wallet), await deedsOf(t, player.wallet)]).toEqual([[], all]);
});

test('who links while a delivery is worked on waits for it, and gets what it kept', async () => {
  const player = await signIn(t);
  const user = t.x.user();
  let linking: Promise<Answer> | undefined;
  const apply = await work(xaa.follow(user));
  await t.app.tx(async (tx) => {
    expect(await apply(tx)).toMatchObject({ verdict: 'kept until the account is linked: follow' });
    linking = linkX(t, player, user);
    await untilSomebodyWaits();
  });
  expect(await linking).toMatchObject({ status: 200 });
  expect(await deedsOf(t, player.wallet)).toEqual([`follow x:${user.id}`, `link x:${user.id}`]);
  expect(await kept(user)).toBe(0);
});

test('a delivery that comes while its account is linked waits for that, and credits', async () => {
  const { address: wallet } = createWallet();
  const user = t.x.user();
  const body = xaa.follow(user);
  let verdict: Promise<string> | undefined;
  await t.app.tx(async (tx) => {
    await confirmLink(tx, { platform: 'x', accountId: user.id, handle: user.username, wallet });
    verdict = verdictOn(t, body);
    await untilSomebodyWaits();
  });
  expect(await verdict).toBe('worked: credited: follow');
  expect(await deedsOf(t, wallet)).toEqual([`follow x:${user.id}`, `link x:${user.id}`]);
});

test('twenty accounts that are linked while deliveries of them come in have everything once', async () => {
  const pairs = await Promise.all(Array.from({ length: 20 }, async () => ({ player: await signIn(t), user: t.x.user() })));
  const posts = Array.from({ length: 5 }, nextXId);
  // Every delivery tells of all of them, in one order or another.
  const bodies = posts.map((post, i) => {
    const tweets = pairs.map(({ user }) => aaa.tweet(user, now(), { retweeted_status: aaa.tweet(US, now(), {}, post) }));
    const follows = pairs.map(({ user }) => aaa.follow(user, US, now()));
    return aaa.delivery({ tweet_create_events: i % 2 ? tweets.toReversed() : tweets, follow_events: i % 2 ? follows : follows.toReversed() });
  });
  await Promise.all([...pairs.map(({ player, user }) => linkX(t, player, user)), ...bodies.map((body) => verdictOn(t, body))]);
  for (const { player, user } of pairs) {
    expect(await deedsOf(t, player.wallet)).toEqual(
      [`follow x:${user.id}`, `link x:${user.id}`, ...posts.map((post) => `repost x:${user.id}:${post}`)].toSorted(),
    );
    expect(await kept(user)).toBe(0);
  }
});
