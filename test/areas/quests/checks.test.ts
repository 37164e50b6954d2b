import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { completeQuests, sweepQuests } from '#areas/quests';
import { newId } from '#lib/ids.ts';
import { startApi } from '#test/support/api.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { registerGame, TEST_GAME } from '#test/support/areas/arcade.ts';
import { sql } from '#test/support/areas/boards.ts';
import {
  act,
  activitiesOf,
  asAdmin,
  calendar,
  consume,
  deleteAllQuests,
  earned,
  follow,
  makeQuest,
  ownQuest,
  settle,
  visitor,
} from '#test/support/areas/quests.ts';
import { send, signIn } from '#test/support/wallet.ts';

let t: TestApp;
let days: Awaited<ReturnType<typeof calendar>>;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  await registerGame(t.url, ADMIN_TOKEN, 'alpha');
  days = await calendar(t);
});
afterEach(() => deleteAllQuests(t.app));
afterAll(() => t.close());

const plays = (wallet: string, n: number, gameId?: string) => activitiesOf(t.app).plays(wallet, n, gameId);
const later = (seconds: number) => t.clock.set(new Date(t.clock.now().getTime() + seconds * 1_000));
const patch = (id: string, json: object) => asAdmin(t, `/quests/${id}`, { method: 'PATCH', json });

test('a new quest is completed for a wallet that met its requirement earlier on the day of the creation', async () => {
  const [player, other] = [await signIn(t), await signIn(t)];
  await plays(player.wallet, 2);
  await plays(other.wallet, 1);
  await consume(t.app);
  const id = await makeQuest(t, { requirement: { type: 'plays', count: 2 } });
  await settle(t.app);
  expect(await earned(t.app, player.wallet)).toEqual({ [`${id}:once`]: 100 });
  expect(await earned(t.app, other.wallet)).toEqual({});
  expect(await ownQuest(player, id)).toMatchObject({ met: true, completed: true });
  // Another run evaluates nobody again, and completes nothing twice.
  await settle(t.app);
  expect(await earned(t.app, player.wallet)).toEqual({ [`${id}:once`]: 100 });
  expect(await sql(t.app, 'select count(*)::int as n from quest_checks')).toEqual([{ n: 0 }]);
});

test('a changed quest is completed for the wallets that meet the new requirement', async () => {
  const player = await signIn(t);
  const id = await makeQuest(t, { requirement: { type: 'plays', count: 5 } });
  await plays(player.wallet, 2);
  await consume(t.app);
  await settle(t.app);
  expect(await earned(t.app, player.wallet)).toEqual({});
  expect((await patch(id, { requirement: { type: 'plays', count: 2 } })).status).toBe(200);
  await settle(t.app);
  expect(await earned(t.app, player.wallet)).toEqual({ [`${id}:once`]: 100 });
});

test('a quest is completed at its start for a wallet that met its requirement earlier on that day, and not before', async () => {
  const player = await signIn(t);
  const startsAt = new Date(t.clock.now().getTime() + 60_000).toISOString();
  const id = await makeQuest(t, { requirement: { type: 'plays', count: 1 }, window: { startsAt } });
  await plays(player.wallet, 1);
  await consume(t.app);
  await settle(t.app);
  expect(await earned(t.app, player.wallet)).toEqual({});
  await later(61);
  await settle(t.app);
  expect(await earned(t.app, player.wallet)).toEqual({ [`${id}:once`]: 100 });
});

test('a quest that counts all games is completed when a game begins to earn rewards', async () => {
  const player = await signIn(t);
  await registerGame(t.url, ADMIN_TOKEN, 'late', { ...TEST_GAME, rewards: false });
  const id = await makeQuest(t, { requirement: { type: 'plays', count: 1 } });
  await plays(player.wallet, 1, 'late');
  await consume(t.app);
  await settle(t.app);
  expect(await earned(t.app, player.wallet)).toEqual({});
  await registerGame(t.url, ADMIN_TOKEN, 'late', { ...TEST_GAME, rewards: true });
  await settle(t.app);
  expect(await earned(t.app, player.wallet)).toEqual({ [`${id}:once`]: 100 });
});

test('a wallet that was banned while it met a requirement completes the quest when the ban ends', async () => {
  const player = await signIn(t);
  const id = await makeQuest(t, { requirement: { type: 'plays', count: 1 } });
  await sql(t.app, 'update players set banned_at = app_now() where wallet = $1', [player.wallet]);
  await plays(player.wallet, 1);
  await consume(t.app);
  await settle(t.app);
  expect(await earned(t.app, player.wallet)).toEqual({});
  expect((await asAdmin(t, `/admin/wallets/${player.wallet}/unban`, { json: {} })).status).toBeLessThan(300);
  await settle(t.app);
  expect(await earned(t.app, player.wallet)).toEqual({ [`${id}:once`]: 100 });
});

test('a completion in beta mode does not use up the completion in regular mode', async () => {
  const player = await signIn(t);
  const toggle = async (enabled: boolean) => expect((await player.fetch('/api/beta/preference', { json: { enabled } })).status).toBe(200);
  const modes = () => sql(t.app, `select mode, points::int as points from ledger where wallet = $1 order by mode`, [player.wallet]);
  const id = await makeQuest(t, { requirement: { type: 'plays', count: 2 } });
  await toggle(true);
  await plays(player.wallet, 2);
  await consume(t.app);
  expect(await modes()).toEqual([{ mode: 'beta', points: 100 }]);
  expect(await ownQuest(player, id)).toMatchObject({ completed: true });
  await toggle(false);
  expect(await ownQuest(player, id)).toMatchObject({ completed: false, met: true });
  await settle(t.app);
  const both = [
    { mode: 'beta', points: 100 },
    { mode: 'regular', points: 100 },
  ];
  expect(await modes()).toEqual(both);
  expect(await ownQuest(player, id)).toMatchObject({ completed: true });
  // Neither mode can be completed twice.
  for (const enabled of [true, false]) {
    await toggle(enabled);
    await plays(player.wallet, 3);
    await consume(t.app);
    await settle(t.app);
  }
  expect(await modes()).toEqual(both);
});

test('an activity completes a quest in the present mode, although the same process saw its completion in the other mode', async () => {
  const player = visitor(t);
  await signIn(t);
  const id = await makeQuest(t, { requirement: { type: 'streak', days: 2 }, repeat: 'once' });
  await player.fetch('/me');
  await sql(t.app, `update players set mode = 'beta' where wallet = $1`, [player.wallet]);
  for (let day = 0; day < 3; day++) {
    if (day > 0) await days.go(1);
    await plays(player.wallet, 1);
    await consume(t.app);
  }
  await days.go(3);
  await sql(t.app, `update players set mode = 'regular' where wallet = $1`, [player.wallet]);
  await plays(player.wallet, 1);
  await consume(t.app);
  await days.go(1);
  await plays(player.wallet, 1);
  await consume(t.app);
  const rows = await sql(t.app, `select mode, source_id from ledger where wallet = $1 order by mode`, [player.wallet]);
  expect(rows).toEqual([
    { mode: 'beta', source_id: `${id}:once` },
    { mode: 'regular', source_id: `${id}:once` },
  ]);
});

test('a follow from before a quest counts, on every day until the account unfollows', async () => {
  const player = visitor(t);
  await player.fetch('/me');
  const account = await follow(t.app, player.wallet);
  await consume(t.app);
  await days.go(3);
  const once = await makeQuest(t, { requirement: { type: 'follow' } });
  const daily = await makeQuest(t, { requirement: { type: 'follow' }, repeat: 'daily', points: 7 });
  expect(await ownQuest(player, once)).toMatchObject({ met: true, missing: [] });
  await settle(t.app);
  const first = days.text();
  await days.go(1);
  await settle(t.app);
  const keys = [`${once}:once`, `${daily}:${first}`, `${daily}:${days.text()}`];
  expect(Object.keys(await earned(t.app, player.wallet)).sort()).toEqual(keys.sort());
  await sql(t.app, `insert into follow_states (platform, account_id, following, at) values ('x', $1, false, app_now())`, [account]);
  await days.go(1);
  await settle(t.app);
  expect(await ownQuest(player, daily)).toMatchObject({ met: false, missing: ['follow the arcade on X'] });
  expect(Object.keys(await earned(t.app, player.wallet)).sort()).toEqual(keys.sort());
});

test('a streak that lasts from the day before completes a daily quest at the beginning of the day', async () => {
  const player = await signIn(t);
  await plays(player.wallet, 1);
  await consume(t.app);
  await days.go(1);
  const id = await makeQuest(t, { requirement: { type: 'streak', days: 1 }, repeat: 'daily' });
  await settle(t.app);
  expect(Object.keys(await earned(t.app, player.wallet))).toEqual([`${id}:${days.text()}`]);
});

test('the quest of an ended burn event is not listed, and a burn from before the end still completes it', async () => {
  const player = await signIn(t);
  const event = randomUUID();
  await sql(
    t.app,
    `insert into burn_events (id, title, mint, duration_sec, created_by, state, activated_at, ends_at)
     values ($1, 'Bonfire', 'mint', 3600, 'somebody', 'active', app_now(), app_now() + interval '1 hour')`,
    [event],
  );
  const id = await makeQuest(t, { requirement: { type: 'burned', amount: '100' }, burnEventId: event });
  const other = await makeQuest(t, { requirement: { type: 'plays', count: 1 }, burnEventId: event });
  const listed = async () => ((await (await send(t, '/quests?limit=500')).json()) as { id: string }[]).map((quest) => quest.id);
  const ofEvent = async () => ((await (await send(t, `/events/burn/${event}/quests`)).json()) as { id: string }[]).map((quest) => quest.id);
  expect([await listed(), await ofEvent()]).toEqual([
    [id, other],
    [id, other],
  ]);
  await later(3_601);
  expect([await listed(), await ofEvent(), await ownQuest(player, id)]).toEqual([[], [], undefined]);
  await act(t.app, { kind: 'burn', wallet: player.wallet, amount: 100, gameId: event }, { kind: 'play', wallet: player.wallet, gameId: 'alpha' });
  await consume(t.app);
  await settle(t.app);
  expect(await earned(t.app, player.wallet)).toEqual({ [`${id}:once`]: 100 });
});

test('a restored score completes the quest whose requirement it meets', async () => {
  const player = await signIn(t);
  const sourceId = newId();
  const score = { wallet: player.wallet, gameId: 'alpha', amount: 9_000, sourceId };
  await act(t.app, { kind: 'score', ...score }, { kind: 'void', ...score, amount: -9_000 });
  await consume(t.app);
  const id = await makeQuest(t, { requirement: { type: 'bestScore', atLeast: 8_000 } });
  await settle(t.app);
  expect(await earned(t.app, player.wallet)).toEqual({});
  await act(t.app, { kind: 'restore', ...score });
  await consume(t.app);
  await settle(t.app);
  expect(await earned(t.app, player.wallet)).toEqual({ [`${id}:once`]: 100 });
});

test('two processes that sweep and complete at the same time complete each quest once, for 2,500 wallets', async () => {
  await days.go(2);
  await sql(
    t.app,
    `with w as (insert into players (wallet) select 'W' || translate(lpad(i::text, 42, '0'), '0', 'z') from generate_series(1, 2500) i returning wallet)
     insert into wallet_weeks (wallet, week, kind, subject, counts, bests)
     select wallet, app_day() - (app_day() + 3) % 7, 'play', 'alpha', array[1, 1, 1, 1, 1, 1, 1], array[0, 0, 0, 0, 0, 0, 0] from w`,
  );
  const other = await startApi(t.env, t.clock);
  try {
    const id = await makeQuest(t, { requirement: { type: 'plays', count: 1 } });
    for (let i = 0; i < 4; i++) await Promise.all([t.app, other.app].flatMap((app) => [sweepQuests(app), completeQuests(app)]));
    await settle(t.app);
    const rows = await sql(t.app, `select count(*)::int as n, count(distinct wallet)::int as wallets from ledger where source_id = $1`, [
      `${id}:once`,
    ]);
    expect(rows).toEqual([{ n: 2_500, wallets: 2_500 }]);
    expect(await sql(t.app, 'select count(*)::int as n from quest_checks')).toEqual([{ n: 0 }]);
  } finally {
    await other.close();
  }
}, 120_000);
