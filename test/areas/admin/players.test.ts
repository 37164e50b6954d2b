import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { NoteView, PlayerScore, PlayerView } from '#areas/admin/players/schemas.ts';
import { QuestList } from '#areas/quests/schemas.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { registerGame, TEST_GAME } from '#test/support/areas/arcade.ts';
import { recordScores } from '#test/support/areas/beta.ts';
import { sql } from '#test/support/areas/boards.ts';
import { asAdmin, statusAndBody } from '#test/support/areas/epochs.ts';
import { makeQuest } from '#test/support/areas/quests.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { createWallet, signIn } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  await registerGame(t.url, ADMIN_TOKEN, 'alpha', { ...TEST_GAME, verification: 'none' });
});
afterAll(() => t.close());

const UNKNOWN = [404, { error: 'the wallet has never signed in' }];
const playerOf = (wallet: string) => jsonOf(asAdmin(t, `/admin/wallets/${wallet}`), PlayerView);

test('a player without any activity is shown with empty lists', async () => {
  const { wallet } = await signIn(t);
  const player = await playerOf(wallet);
  expect(player).toMatchObject({ wallet, mode: 'regular', sanctions: [], linkedAccounts: [], points: { regular: { total: 0 }, beta: { total: 0 } } });
  for (const name of ['scores', 'ledger', 'quests', 'entries', 'tickets', 'payments', 'notes'] as const) {
    expect(player[name]).toEqual({ total: 0, newest: [], list: `/admin/wallets/${wallet}/${name}` });
    expect(await statusAndBody(asAdmin(t, player[name].list))).toEqual([200, []]);
  }
});

test('a player is shown with points by source, the newest rows of each list, sanctions and notes', async () => {
  const { wallet } = await signIn(t);
  await recordScores(
    t.app,
    wallet,
    Array.from({ length: 12 }, (_, i) => ({ gameId: 'alpha', score: 1_000 + i })),
  );
  const quest = await makeQuest(t, { requirement: { type: 'manual' } });
  expect((await asAdmin(t, `/admin/quests/${quest}/complete`, { json: { wallet } })).status).toBe(200);
  expect((await asAdmin(t, `/admin/wallets/${wallet}/points`, { json: { points: 7, reason: 'a gift' } })).status).toBe(201);
  for (const text of ['first\nline', 'second']) expect((await asAdmin(t, `/admin/wallets/${wallet}/notes`, { json: { text } })).status).toBe(201);
  await sql(t.app, `insert into chat_sanctions (source, account, by, muted_until) values ('chat', $1, 'mod', app_now() + interval '1 hour')`, [
    wallet,
  ]);
  await sql(t.app, `update players set banned_at = app_now(), ban_reason = 'a bot' where wallet = $1`, [wallet]);
  const player = await playerOf(wallet);
  expect([player.scores.total, player.scores.newest.length, player.ledger.newest.length]).toEqual([12, 10, 10]);
  expect(player.points.regular.sources).toMatchObject({ quests: 100, adjustments: 7 });
  expect(player.quests).toMatchObject({ total: 1, newest: [{ questId: quest, window: 'once', points: 100, by: 'admin-1' }] });
  expect(player.notes).toMatchObject({ total: 2, newest: [{ text: 'second', by: 'admin-1' }, { text: 'first\nline' }] });
  expect(player.sanctions.map(({ type, reason }) => [type, reason])).toEqual([
    ['ban', 'a bot'],
    ['chat-mute', null],
  ]);
  const scores = await asAdmin(t, `${player.scores.list}?limit=2&offset=10`);
  expect([scores.headers.get('X-Total-Count'), (await jsonOf(scores, z.array(PlayerScore))).length]).toEqual(['12', 2]);
  expect((await jsonOf(asAdmin(t, `${player.notes.list}?limit=1`), z.array(NoteView))).map(({ text }) => text)).toEqual(['second']);
});

test('a wallet that never signed in is not found, and an empty note is refused', async () => {
  const { address } = createWallet();
  for (const path of ['', '/scores', '/quests', '/entries', '/tickets', '/payments', '/notes', '/ledger']) {
    expect(await statusAndBody(asAdmin(t, `/admin/wallets/${address}${path}`))).toEqual(UNKNOWN);
  }
  expect(await statusAndBody(asAdmin(t, `/admin/wallets/${address}/notes`, { json: { text: 'x' } }))).toEqual(UNKNOWN);
  const { wallet } = await signIn(t);
  expect((await asAdmin(t, `/admin/wallets/${wallet}/notes`, { json: { text: ' ' } })).status).toBe(400);
});

test('all quests are listed with their states and completions, also scheduled, ended and inactive ones', async () => {
  const { wallet } = await signIn(t);
  const now = t.clock.now().getTime();
  const at = (seconds: number) => new Date(now + seconds * 1_000).toISOString();
  const requirement = { type: 'manual' };
  const ids = {
    open: await makeQuest(t, { requirement }),
    scheduled: await makeQuest(t, { requirement, window: { startsAt: at(3_600) } }),
    ended: await makeQuest(t, { requirement, window: { startsAt: at(-7_200), endsAt: at(-3_600) } }),
    inactive: await makeQuest(t, { requirement, active: false }),
  };
  await asAdmin(t, `/admin/quests/${ids.open}/complete`, { json: { wallet } });
  const listed = async (query = '') => {
    const response = await asAdmin(t, `/admin/quests${query}`);
    return { total: Number(response.headers.get('X-Total-Count')), quests: await jsonOf(response, QuestList) };
  };
  const { quests, total } = await listed('?limit=500');
  expect(quests.length).toBe(total);
  for (const [state, id] of Object.entries(ids)) {
    const completed = state === 'open' ? { completions: 1, pointsAwarded: 100 } : { completions: 0, pointsAwarded: 0 };
    expect(quests.find((quest) => quest.id === id)).toMatchObject({ state, ...completed });
    if (state !== 'open') expect((await listed(`?state=${state}`)).quests.map((quest) => quest.id)).toEqual([id]);
  }
});

test('a notification is sent to everybody or to one wallet, and is listed', async () => {
  const { wallet } = await signIn(t);
  const post = (json: unknown) => asAdmin(t, '/admin/notifications', { json });
  expect((await post({ title: 'Hello', text: 'to all' })).status).toBe(201);
  expect((await post({ title: 'Hello', text: 'to you', wallet, link: 'https://coinop.example/x' })).status).toBe(201);
  const rows = await sql<{ wallet: string | null; payload: unknown }>(
    t.app,
    `select wallet, payload from outbox where type = 'notification' order by id`,
  );
  expect(rows).toMatchObject([
    { wallet: null, payload: { title: 'Hello', text: 'to all', link: null } },
    { wallet, payload: { text: 'to you', link: 'https://coinop.example/x' } },
  ]);
  expect(await (await asAdmin(t, '/admin/notifications')).json()).toMatchObject([
    { text: 'to you', wallet, by: 'admin-1' },
    { text: 'to all', wallet: null },
  ]);
  expect(await statusAndBody(post({ title: 'x', text: 'x', wallet: createWallet().address }))).toEqual(UNKNOWN);
  expect((await post({ title: 'x', text: 'x', link: 'javascript:alert(1)' })).status).toBe(400);
});
