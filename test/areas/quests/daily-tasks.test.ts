import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { registerGame } from '#test/support/areas/arcade.ts';
import { sql } from '#test/support/areas/boards.ts';
import { act, consume, deleteAllQuests, earned, makeQuest, type OwnQuestFields } from '#test/support/areas/quests.ts';
import { createWallet, type SignedIn, send, signIn } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  await registerGame(t.url, ADMIN_TOKEN, 'alpha');
});
afterEach(() => deleteAllQuests(t.app));
afterAll(() => t.close());

const DAY = 86_400_000;
const makeTask = (requirement: object = { type: 'plays', count: 1 }) => makeQuest(t, { requirement, task: true, repeat: 'daily', points: 40 });
const tasks = async (player: SignedIn) => (await (await player.fetch('/api/tasks/daily')).json()) as OwnQuestFields[];
const complete = (player: SignedIn, taskId: unknown, headers: Record<string, string> = {}) =>
  player.fetch('/api/tasks/daily/complete', { json: { taskId }, headers });
const play = (wallet: string) => act(t.app, { kind: 'play', wallet, gameId: 'alpha' });
const errorOf = async (answer: Promise<Response>) => {
  const response = await answer;
  return [response.status, ((await response.json()) as { error: string }).error];
};
const dayOf = (at: Date) => at.toISOString().slice(0, 10);

test('a wallet completes a daily task with a request, after it has met the requirement', async () => {
  const player = await signIn(t);
  const id = await makeTask({
    all: [
      { type: 'plays', count: 2 },
      { type: 'clips', count: 1 },
    ],
  });
  await makeQuest(t, { requirement: { type: 'plays', count: 9 } });
  await play(player.wallet);
  expect(await tasks(player)).toMatchObject([
    { id, task: true, completed: false, missing: ['1 more play in games that earn rewards', '1 more clip'] },
  ]);
  expect(await errorOf(complete(player, id))).toEqual([
    400,
    'the requirement of the task is not met; missing: 1 more play in games that earn rewards, 1 more clip',
  ]);

  await play(player.wallet);
  await act(t.app, { kind: 'clip', wallet: player.wallet });
  // Consuming the activities does not complete a task; the wallet must send a request.
  await consume(t.app);
  expect(await tasks(player)).toMatchObject([{ completed: false, met: true, missing: [] }]);
  const day = dayOf(t.clock.now());
  const answer = await complete(player, id);
  const resetsAt = new Date(Date.parse(day) + DAY).toISOString();
  expect([answer.status, await answer.json()]).toMatchObject([
    200,
    {
      pointsAwarded: 40,
      factors: { basePoints: 40, multiplier: 1 },
      task: { id, completed: true, pointsAwarded: 40, completedAt: expect.any(String), resetsAt },
    },
  ]);
  expect(await tasks(player)).toMatchObject([{ id, completed: true, windowKey: day, resetsAt }]);
  expect(await errorOf(complete(player, id))).toEqual([409, `the task is completed for today; it can be completed again from ${resetsAt}`]);
  expect(await earned(t.app, player.wallet)).toEqual({ [`${id}:${day}`]: 40 });
  expect(await (await player.fetch('/ledger/quests')).json()).toMatchObject([{ questId: id, window: day, points: 40 }]);
});

test('an activity counts for a daily task before it is consumed', async () => {
  const player = await signIn(t);
  const id = await makeTask();
  await play(player.wallet);
  expect((await complete(player, id)).status).toBe(200);
  await consume(t.app);
  expect(Object.values(await earned(t.app, player.wallet))).toEqual([40]);
});

test('fifty concurrent requests complete a task once', async () => {
  const player = await signIn(t);
  const id = await makeTask();
  await play(player.wallet);
  const answers = await Promise.all(Array.from({ length: 50 }, () => complete(player, id)));
  expect(answers.map((answer) => answer.status).sort()).toEqual([200, ...Array(49).fill(409)]);
  expect(Object.values(await earned(t.app, player.wallet))).toEqual([40]);
  expect(await sql(t.app, `select count(*)::int as n from outbox where type = 'quest_completed' and wallet = $1`, [player.wallet])).toEqual([
    { n: 1 },
  ]);
});

test('a repeated task completion with the same idempotency key gets the same response', async () => {
  const player = await signIn(t);
  const id = await makeTask();
  await play(player.wallet);
  const key = { 'Idempotency-Key': 'today' };
  const [first, second] = [await complete(player, id, key), await complete(player, id, key)];
  expect([first.status, second.status, await second.json()]).toEqual([200, 200, await first.json()]);
  expect((await complete(player, await makeTask(), key)).status).toBe(409);
  expect(Object.values(await earned(t.app, player.wallet))).toEqual([40]);
});

test('a daily task with a manual condition is completed by the request alone', async () => {
  const player = await signIn(t);
  const id = await makeTask({ type: 'manual' });
  expect((await complete(player, id)).status).toBe(200);
});

test('a completion is refused when the quest is no open task, the body is invalid or the session is missing', async () => {
  const player = await signIn(t);
  const plain = await makeQuest(t, { requirement: { type: 'manual' }, repeat: 'daily' });
  const closed = await makeQuest(t, { requirement: { type: 'manual' }, repeat: 'daily', task: true, active: false });
  const refused = [404, 'there is no such daily task'];
  for (const id of [plain, closed, 'no-such-task']) expect(await errorOf(complete(player, id))).toEqual(refused);
  expect((await complete(player, 'Not one')).status).toBe(400);
  expect((await complete(player, 7)).status).toBe(400);
  expect((await complete(player, undefined)).status).toBe(400);
  expect((await send(t, '/api/tasks/daily/complete', { json: { taskId: plain } })).status).toBe(401);
});

test('a banned wallet cannot complete a task', async () => {
  const player = await signIn(t);
  const id = await makeTask({ type: 'manual' });
  await sql(t.app, 'update players set banned_at = app_now() where wallet = $1', [player.wallet]);
  // The ban may end the session before it refuses the request.
  expect([401, 403]).toContain((await complete(player, id)).status);
  expect(await earned(t.app, player.wallet)).toEqual({});
});

test('a daily task can be completed again after midnight UTC, with progress reset', async () => {
  const key = createWallet();
  const id = await makeTask();
  const midnight = Math.ceil(t.clock.now().getTime() / DAY + 1) * DAY;
  await t.clock.set(new Date(midnight - 20_000));
  const evening = await signIn(t, key);
  await play(key.address);
  expect((await complete(evening, id)).status).toBe(200);
  await t.clock.set(new Date(midnight + 20_000));
  const morning = await signIn(t, key);
  expect(await tasks(morning)).toMatchObject([{ completed: false, met: false, resetsAt: new Date(midnight + DAY).toISOString() }]);
  expect((await complete(morning, id)).status).toBe(400);
  await play(key.address);
  // On the second day of a streak, the bonus is 5 %.
  expect(await (await complete(morning, id)).json()).toMatchObject({ pointsAwarded: 42, factors: { streakDays: 2 } });
  expect(Object.keys(await earned(t.app, key.address))).toEqual([`${id}:${dayOf(new Date(midnight - 1))}`, `${id}:${dayOf(new Date(midnight))}`]);
});
