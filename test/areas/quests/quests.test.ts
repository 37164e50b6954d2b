import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { newId } from '#lib/ids.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { registerGame, TEST_GAME } from '#test/support/areas/arcade.ts';
import { sql } from '#test/support/areas/boards.ts';
import {
  act,
  activitiesOf,
  calendar,
  consume,
  deleteAllQuests,
  earned,
  follow as followArcade,
  makeQuest,
  type OwnQuestFields,
  ownQuest,
  visitor,
} from '#test/support/areas/quests.ts';
import { send, signIn } from '#test/support/wallet.ts';

let t: TestApp;
let days: Awaited<ReturnType<typeof calendar>>;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  await registerGame(t.url, ADMIN_TOKEN, 'alpha');
  await registerGame(t.url, ADMIN_TOKEN, 'unverified', { ...TEST_GAME, verification: 'none' });
  days = await calendar(t);
});
afterEach(() => deleteAllQuests(t.app));
afterAll(() => t.close());

const plays = (wallet: string, n: number) => activitiesOf(t.app).plays(wallet, n);
const score: ReturnType<typeof activitiesOf>['score'] = (...args) => activitiesOf(t.app).score(...args);

test('a quest is completed once when its requirement is met, and the wallet gets an event', async () => {
  const player = await signIn(t);
  const id = await makeQuest(t, { requirement: { type: 'plays', count: 3 }, points: 250 });
  await plays(player.wallet, 2);
  await consume(t.app);
  expect(await ownQuest(player, id)).toMatchObject({
    progress: [{ have: 2, need: 3, met: false }],
    missing: ['1 more play in games that earn rewards'],
    completed: false,
  });
  expect(await earned(t.app, player.wallet)).toEqual({});

  await plays(player.wallet, 5);
  await consume(t.app);
  await plays(player.wallet, 5);
  await consume(t.app);
  expect(await earned(t.app, player.wallet)).toEqual({ [`${id}:once`]: 250 });
  expect(await ownQuest(player, id)).toMatchObject({
    completed: true,
    pointsAwarded: 250,
    missing: [],
    met: true,
    resetsAt: null,
    windowKey: 'once',
  });
  const events = await sql(t.app, `select payload from outbox where type = 'quest_completed' and wallet = $1`, [player.wallet]);
  expect(events).toEqual([{ payload: { questId: id, title: 'A quest', window: 'once', points: 250, task: false } }]);
  const boards = await sql(t.app, 'select board, total::int as total from standings where wallet = $1 order by board', [player.wallet]);
  expect(boards).toEqual([
    { board: 'global', total: 250 },
    { board: 'quests', total: 250 },
  ]);
});

test('progress includes an activity before it is consumed, and counts it once afterwards', async () => {
  const player = await signIn(t);
  const id = await makeQuest(t, {
    requirement: {
      all: [
        { type: 'plays', count: 3 },
        { type: 'streak', days: 2 },
      ],
    },
  });
  await plays(player.wallet, 2);
  const before = await ownQuest(player, id);
  await consume(t.app);
  expect(before?.progress).toMatchObject([{ have: 2 }, { have: 1 }]);
  expect((await ownQuest(player, id))?.progress).toEqual(before?.progress);
});

const one = (requirement: object) => ({ requirement });
test.each<[string, object, Parameters<typeof act>[1][], string]>([
  ['plays of a game', { type: 'plays', count: 2, gameId: 'alpha' }, [{ kind: 'play', wallet: '', gameId: 'alpha' }], '1 more play in alpha'],
  [
    'accepted scores',
    { type: 'scores', count: 2 },
    [{ kind: 'score', wallet: '', gameId: 'alpha', amount: 5 }],
    '1 more accepted score in games that earn rewards',
  ],
  ['clips', { type: 'clips', count: 2 }, [{ kind: 'clip', wallet: '' }], '1 more clip'],
  ['reposts', { type: 'repost', count: 2 }, [{ kind: 'repost', wallet: '' }], '1 more repost'],
  ['mentions', { type: 'mention', count: 2 }, [{ kind: 'mention', wallet: '' }], '1 more mention'],
  ['referrals', { type: 'referrals', count: 2 }, [{ kind: 'bind', wallet: '' }], '1 more referred wallet'],
  ['burns', { type: 'burned', amount: '200' }, [{ kind: 'burn', wallet: '', amount: 100 }], '100 more base units to burn'],
])('a condition counts %s', async (_condition, requirement, activities, missing) => {
  const player = await signIn(t);
  const id = await makeQuest(t, one(requirement));
  for (const round of [1, 2]) {
    await act(t.app, ...activities.map((activity) => ({ ...activity, wallet: player.wallet })), { kind: 'link', wallet: player.wallet });
    await consume(t.app);
    if (round === 1) expect((await ownQuest(player, id))?.missing).toEqual([missing]);
  }
  expect(await earned(t.app, player.wallet)).toEqual({ [`${id}:once`]: 100 });
});

test('a follow and token amounts above the safe integer range are counted', async () => {
  const player = await signIn(t);
  const follow = await makeQuest(t, one({ type: 'follow' }));
  const burn = await makeQuest(t, one({ type: 'burned', amount: '9007199254740994' }));
  expect((await ownQuest(player, follow))?.missing).toEqual(['follow the arcade on X']);
  await followArcade(t.app, player.wallet);
  await act(t.app, { kind: 'burn', wallet: player.wallet, amount: 9_007_199_254_740_992 });
  await act(t.app, { kind: 'burn', wallet: player.wallet, amount: 1 });
  await consume(t.app);
  expect((await ownQuest(player, burn))?.progress).toMatchObject([{ have: '9007199254740993', need: '9007199254740994', met: false }]);
  expect((await ownQuest(player, burn))?.missing).toEqual(['1 more base units to burn']);
  expect(await earned(t.app, player.wallet)).toEqual({ [`${follow}:once`]: 110 });
});

test('a burn condition with an event counts burns of this event only', async () => {
  const player = await signIn(t);
  const event = randomUUID();
  await sql(t.app, `insert into burn_events (id, title, mint, duration_sec, created_by) values ($1, 'Bonfire', 'mint', 3600, 'somebody')`, [event]);
  const id = await makeQuest(t, { requirement: { type: 'burned', amount: '100' }, burnEventId: event });
  const named = await makeQuest(t, one({ type: 'burned', amount: '100', eventId: event }));
  await act(t.app, { kind: 'burn', wallet: player.wallet, amount: 500, gameId: randomUUID() });
  await consume(t.app);
  expect(await earned(t.app, player.wallet)).toEqual({});
  await act(t.app, { kind: 'burn', wallet: player.wallet, amount: 100, gameId: event });
  await consume(t.app);
  expect(Object.keys(await earned(t.app, player.wallet)).sort()).toEqual([`${id}:once`, `${named}:once`].sort());
  const listed = await send(t, `/events/burn/${event}/quests`);
  expect([listed.status, listed.headers.get('X-Total-Count'), ((await listed.json()) as OwnQuestFields[]).map((quest) => quest.id)]).toEqual([
    200,
    '1',
    [id],
  ]);
  expect((await send(t, `/events/burn/${randomUUID()}/quests`)).status).toBe(404);
});

test('groups of conditions nest, and sentences say what is missing', async () => {
  const player = await signIn(t);
  const id = await makeQuest(t, {
    requirement: { all: [{ type: 'plays', count: 1 }, { any: [{ type: 'bestScore', atLeast: 5_000, gameId: 'alpha' }, { type: 'follow' }] }] },
  });
  await score(player.wallet, 4_000);
  await consume(t.app);
  expect((await ownQuest(player, id))?.missing).toEqual([
    '1 more play in games that earn rewards',
    'one of: a score of at least 5000 in alpha (best so far: 4000); follow the arcade on X',
  ]);
  await plays(player.wallet, 1);
  await score(player.wallet, 5_000);
  await consume(t.app);
  expect((await ownQuest(player, id))?.completed).toBe(true);
});

test('games without rewards count only in conditions that name them', async () => {
  const player = await signIn(t);
  const any = await makeQuest(t, one({ type: 'scores', count: 1 }));
  const named = await makeQuest(t, one({ type: 'scores', count: 1, gameId: 'unverified' }));
  await score(player.wallet, 10_000, 'unverified');
  await consume(t.app);
  expect(await earned(t.app, player.wallet)).toEqual({ [`${named}:once`]: 100 });
  expect((await ownQuest(player, any))?.missing).toEqual(['1 more accepted score in games that earn rewards']);
});

test('voided scores are subtracted, the best score is recomputed, and completions that rest on them are voided', async () => {
  const player = visitor(t);
  const done = await makeQuest(t, one({ type: 'bestScore', atLeast: 9_000 }));
  const open = await makeQuest(
    t,
    one({
      all: [
        { type: 'scores', count: 3 },
        { type: 'bestScore', atLeast: 9_500 },
      ],
    }),
  );
  const [first, second] = [newId(), newId()];
  await score(player.wallet, 4_000, 'alpha', first);
  await score(player.wallet, 9_000, 'alpha', second);
  await consume(t.app);
  await days.go(1);
  await act(t.app, { kind: 'void', wallet: player.wallet, gameId: 'alpha', amount: -9_000, sourceId: second });
  await consume(t.app);
  expect((await ownQuest(player, open))?.progress).toMatchObject([{ have: 1 }, { have: 4_000 }]);
  expect(await ownQuest(player, done)).toMatchObject({ completed: false, pointsAwarded: null });
  expect(await earned(t.app, player.wallet)).toEqual({ [`${done}:once`]: 100, [`${done}:once:1`]: -100 });
  // A score and its void are in one batch.
  const third = newId();
  await score(player.wallet, 9_999, 'alpha', third);
  await act(t.app, { kind: 'void', wallet: player.wallet, gameId: 'alpha', amount: -9_999, sourceId: third });
  await consume(t.app);
  expect((await ownQuest(player, open))?.progress).toMatchObject([{ have: 1 }, { have: 4_000 }]);
});
