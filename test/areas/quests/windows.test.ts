import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { linkAccount } from '#areas/social';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { registerGame } from '#test/support/areas/arcade.ts';
import { activitiesOf, calendar, consume, deleteAllQuests, earned, makeQuest, ownQuest, visitor } from '#test/support/areas/quests.ts';

let t: TestApp;
let days: Awaited<ReturnType<typeof calendar>>;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  await registerGame(t.url, ADMIN_TOKEN, 'alpha');
  days = await calendar(t);
});
afterEach(() => deleteAllQuests(t.app));
afterAll(() => t.close());

const DAY = 86_400_000;
const plays = (wallet: string, n: number) => activitiesOf(t.app).plays(wallet, n);

test('daily quests reset each UTC day, weekly quests each ISO week', async () => {
  await days.monday();
  const player = visitor(t);
  const daily = await makeQuest(t, { requirement: { type: 'plays', count: 2 }, repeat: 'daily' });
  const weekly = await makeQuest(t, { requirement: { type: 'plays', count: 3 }, repeat: 'weekly' });
  await t.clock.set(new Date((days.today() + 1) * DAY - 60_000));
  await plays(player.wallet, 1);
  await t.clock.set(new Date((days.today() + 1) * DAY + 60_000));
  await plays(player.wallet, 1);
  await consume(t.app);
  expect(await ownQuest(player, daily)).toMatchObject({ progress: [{ have: 1 }], resetsAt: new Date((days.today() + 2) * DAY).toISOString() });
  expect(await ownQuest(player, weekly)).toMatchObject({ progress: [{ have: 2 }], resetsAt: new Date((days.today() + 7) * DAY).toISOString() });
  await plays(player.wallet, 1);
  await consume(t.app);
  const tuesday = new Date((days.today() + 1) * DAY).toISOString().slice(0, 10);
  const week = (await ownQuest(player, weekly))?.windowKey;
  expect(week).toMatch(/^\d{4}-W\d\d$/);
  // On the second day of a streak, the bonus is 5 %.
  expect(await earned(t.app, player.wallet)).toEqual({ [`${daily}:${tuesday}`]: 105, [`${weekly}:${week}`]: 105 });
  await days.go(7);
  expect(await ownQuest(player, daily)).toMatchObject({ completed: false, progress: [{ have: 0 }] });
  expect(await ownQuest(player, weekly)).toMatchObject({ completed: false, progress: [{ have: 0 }] });
  await plays(player.wallet, 3);
  await consume(t.app);
  expect(Object.values(await earned(t.app, player.wallet)).sort()).toEqual([100, 100, 105, 105]);
});

test('an activity that is consumed after midnight counts for the day on which it happened', async () => {
  await days.go(1);
  const player = visitor(t);
  const id = await makeQuest(t, { requirement: { type: 'plays', count: 1 }, repeat: 'daily' });
  const day = new Date(days.today() * DAY).toISOString().slice(0, 10);
  await plays(player.wallet, 1);
  await days.go(1);
  await consume(t.app);
  expect(await earned(t.app, player.wallet)).toEqual({ [`${id}:${day}`]: 100 });
  expect(await ownQuest(player, id)).toMatchObject({ completed: false });
});

test('a quest is completed only within its window, and earlier activities do not count', async () => {
  await days.go(1);
  const player = visitor(t);
  const window = { startsAt: new Date((days.today() + 1) * DAY).toISOString(), endsAt: new Date((days.today() + 3) * DAY).toISOString() };
  const id = await makeQuest(t, { requirement: { type: 'plays', count: 2 }, window });
  await plays(player.wallet, 2);
  await consume(t.app);
  expect(await ownQuest(player, id)).toBeUndefined();
  await days.go(1);
  await plays(player.wallet, 1);
  await consume(t.app);
  expect(await ownQuest(player, id)).toMatchObject({ progress: [{ have: 1 }], completed: false });
  await days.go(2);
  await plays(player.wallet, 5);
  await consume(t.app);
  expect(await ownQuest(player, id)).toBeUndefined();
  expect(await earned(t.app, player.wallet)).toEqual({});
});

test('a streak of consecutive days up to today or yesterday multiplies quest points', async () => {
  await days.go(1);
  const player = visitor(t);
  const id = await makeQuest(t, { requirement: { type: 'streak', days: 3 }, points: 1_000 });
  const have = async () => (await ownQuest(player, id))?.progress[0]?.have;
  await plays(player.wallet, 1);
  await consume(t.app);
  await days.go(1);
  expect(await have()).toBe(1);
  await days.go(1);
  expect(await have()).toBe(0);
  for (const expected of [1, 2, 3]) {
    await plays(player.wallet, 1);
    await consume(t.app);
    expect(await have()).toBe(expected);
    if (expected < 3) await days.go(1);
  }
  expect(await earned(t.app, player.wallet)).toEqual({ [`${id}:once`]: 1_100 });
});

test('the multiplier lists its factors, is capped, and is stored with each ledger entry', async () => {
  await days.go(1);
  const player = visitor(t);
  const multiplier = async () => await (await player.fetch('/me/quest-multiplier')).json();
  expect(await multiplier()).toEqual({
    multiplier: 1,
    max: 1.6,
    factors: { streak: { bonus: 0, days: 0 }, linkedAccount: { bonus: 0, linked: false }, holding: { bonus: 0, holding: null, at: null } },
  });
  await t.app.tx((tx) => linkAccount(tx, { platform: 'x', accountId: player.wallet, handle: 'somebody', wallet: player.wallet }));
  for (let i = 0; i < 14; i++) {
    await plays(player.wallet, 1);
    await consume(t.app);
    if (i < 13) await days.go(1);
  }
  expect(await multiplier()).toMatchObject({
    multiplier: 1.6,
    factors: { streak: { bonus: 0.5, days: 14 }, linkedAccount: { bonus: 0.1, linked: true } },
  });
  const id = await makeQuest(t, { requirement: { type: 'plays', count: 2 }, points: 33 });
  await plays(player.wallet, 1);
  await consume(t.app);
  expect(await earned(t.app, player.wallet)).toEqual({ [`${id}:once`]: 52 });
  const ledger = await player.fetch('/ledger/quests');
  expect(ledger.headers.get('X-Total-Count')).toBe('1');
  expect(await ledger.json()).toEqual([
    {
      questId: id,
      window: 'once',
      points: 52,
      reason: 'quest',
      revoked: false,
      note: null,
      mode: 'regular',
      timestamp: expect.any(String),
      factors: { rule: 1, questVersion: 1, basePoints: 33, multiplier: 1.6, streakDays: 14, linked: true, holding: null, holdingAt: null },
    },
  ]);
});
