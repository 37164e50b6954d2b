import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { LedgerEntryView } from '#areas/admin/ledger/schemas.ts';
import { readPage, rebuildBoard, refreshBoards } from '#areas/points';
import { PointsBreakdown } from '#areas/profile/schemas.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { registerGame, TEST_GAME } from '#test/support/areas/arcade.ts';
import { recordScores, setBeta } from '#test/support/areas/beta.ts';
import { givePoints, sql } from '#test/support/areas/boards.ts';
import { asAdmin, statusAndBody } from '#test/support/areas/epochs.ts';
import { makeQuest, ownQuest } from '#test/support/areas/quests.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { createWallet, type SignedIn, send, signIn } from '#test/support/wallet.ts';

const MODERATOR = 'moderation-token-0123456789';
let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false, env: { ADMIN_TOKENS: `${ADMIN_TOKEN},mod:moderation:${MODERATOR}` } });
  await registerGame(t.url, ADMIN_TOKEN, 'alpha', { ...TEST_GAME, verification: 'none' });
});
afterAll(() => t.close());

const adjust = (wallet: string, json: unknown, headers: Record<string, string> = {}) =>
  asAdmin(t, `/admin/wallets/${wallet}/points`, { json, headers });
const adjusted = async (wallet: string, json: unknown) => {
  const response = await adjust(wallet, json);
  expect(response.status).toBe(201);
  return await jsonOf(response, LedgerEntryView);
};
const revoke = (id: string, reason = 'a mistake') => asAdmin(t, `/admin/ledger/${id}/revoke`, { json: { reason } });
const revoked = async (id: string) => {
  const response = await revoke(id);
  expect([response.status, id]).toEqual([201, id]);
  return await jsonOf(response, LedgerEntryView);
};
const entryOf = (id: string) => jsonOf(asAdmin(t, `/admin/ledger/${id}`), LedgerEntryView);
const ledgerOf = async (wallet: string, query = '') => {
  const response = await asAdmin(t, `/admin/wallets/${wallet}/ledger${query}`);
  return { total: response.headers.get('X-Total-Count'), entries: await jsonOf(response, z.array(LedgerEntryView)) };
};
const breakdownOf = (player: SignedIn) => jsonOf(player.fetch('/debug/points'), PointsBreakdown);
const ban = (wallet: string) => sql(t.app, 'update players set banned_at = app_now() where wallet = $1', [wallet]);
/** Returns the regular points of a wallet that the epoch of today counts, as the snapshot of the epoch selects them. */
const countedToday = async (wallet: string) => {
  const [row] = await sql<{ points: number }>(
    t.app,
    `select coalesce(sum(points), 0)::float8 as points from ledger where wallet = $1 and mode = 'regular' and rewards and kind <> 'conversion' and day = app_day()`,
    [wallet],
  );
  return row?.points;
};
const globalScore = async (wallet: string, span: 'all' | 'day' = 'all') => {
  await refreshBoards(t.app);
  const { entries } = await readPage(t.app, 'global', { span, limit: 500, offset: 0 });
  return entries.find((entry) => entry.wallet === wallet)?.score ?? null;
};

describe('POST /admin/wallets/{wallet}/points', () => {
  test('grants points with a reason, which count on the global board and in the source adjustments, but earn no rewards', async () => {
    const player = await signIn(t);
    await givePoints(t.app, { wallet: player.wallet, points: 30 });
    const entry = await adjusted(player.wallet, { points: 50, reason: 'lost a score in the outage' });
    expect(entry).toMatchObject({ wallet: player.wallet, points: 50, mode: 'regular', source: 'adjustment', reason: 'adjustment', rewards: false });
    expect(entry).toMatchObject({ by: 'admin-1', note: 'lost a score in the outage', revokedBy: null, revokes: null });
    expect(await entryOf(entry.id)).toEqual(entry);
    expect((await ledgerOf(player.wallet)).entries[0]).toEqual(entry);
    const { regular } = await breakdownOf(player);
    expect(regular).toMatchObject({
      total: 80,
      sources: { games: 30, adjustments: 50 },
      periods: { day: { points: 80, games: 30, adjustments: 50 } },
    });
    expect([await globalScore(player.wallet), await globalScore(player.wallet, 'day'), await countedToday(player.wallet)]).toEqual([80, 80, 30]);
    expect(await (await send(t, '/leaderboard/global/stats')).json()).toMatchObject({ pointsBySource: { adjustments: expect.any(Number) } });
  });

  test('with rewards: true, the points count for the epoch of today', async () => {
    const { wallet } = await signIn(t);
    await adjusted(wallet, { points: 70, reason: 'a prize', rewards: true });
    expect(await countedToday(wallet)).toBe(70);
    await adjusted(wallet, { points: -30, reason: 'too much', rewards: true });
    expect(await countedToday(wallet)).toBe(40);
  });

  test('deducts points; a wallet whose total is not above 0 is on no board', async () => {
    const player = await signIn(t);
    await givePoints(t.app, { wallet: player.wallet, points: 30 });
    await adjusted(player.wallet, { points: -40, reason: 'used a bot' });
    expect((await breakdownOf(player)).regular).toMatchObject({ total: -10, sources: { games: 30, adjustments: -40 } });
    expect(await globalScore(player.wallet)).toBeNull();
  });

  test('grants beta points, which never earn rewards', async () => {
    const player = await signIn(t);
    await adjusted(player.wallet, { points: 5, reason: 'a test', mode: 'beta' });
    expect(await breakdownOf(player)).toMatchObject({ regular: { total: 0 }, beta: { total: 5, sources: { adjustments: 5 } } });
    expect(await statusAndBody(adjust(player.wallet, { points: 5, reason: 'a test', mode: 'beta', rewards: true }))).toEqual([
      400,
      { error: 'rewards must be false for beta points' },
    ]);
  });

  test('gives points once per Idempotency-Key, also for fifty concurrent requests', async () => {
    const player = await signIn(t);
    const ask = async (): Promise<number> => {
      const response = await adjust(player.wallet, { points: 9, reason: 'once' }, { 'Idempotency-Key': `once-${player.wallet}` });
      return response.headers.has('Retry-After') ? await ask() : response.status;
    };
    expect(new Set(await Promise.all(Array.from({ length: 50 }, ask)))).toEqual(new Set([201]));
    expect((await breakdownOf(player)).regular.total).toBe(9);
  });

  test('refuses unknown and banned wallets, invalid amounts, a missing reason and other scopes; a banned wallet can lose points', async () => {
    const player = await signIn(t);
    expect(await statusAndBody(adjust(createWallet().address, { points: 5, reason: 'x' }))).toEqual([
      404,
      { error: 'the wallet has never signed in' },
    ]);
    for (const json of [
      { points: 0, reason: 'x' },
      { points: 1.5, reason: 'x' },
      { points: 1_000_001, reason: 'x' },
      { points: -1_000_001, reason: 'x' },
      { points: 5 },
      { points: 5, reason: ' ' },
    ]) {
      expect((await adjust(player.wallet, json)).status).toBe(400);
    }
    const path = `/admin/wallets/${player.wallet}/points`;
    const headers = { Authorization: `Bearer ${MODERATOR}` };
    expect((await send(t, path, { json: { points: 5, reason: 'x' }, headers })).status).toBe(403);
    await ban(player.wallet);
    expect(await statusAndBody(adjust(player.wallet, { points: 5, reason: 'x' }))).toEqual([409, { error: 'wallet must not be banned' }]);
    await adjusted(player.wallet, { points: -5, reason: 'x' });
  });
});

describe('POST /admin/ledger/{id}/revoke', () => {
  test('compensates an adjustment once, with a reason, and both entries name each other', async () => {
    const player = await signIn(t);
    const granted = await adjusted(player.wallet, { points: 50, reason: 'a prize', rewards: true });
    await rebuildBoard(t.app, 'global');
    expect(await globalScore(player.wallet)).toBe(50);
    const answers = await Promise.all(Array.from({ length: 20 }, () => revoke(granted.id, 'wrong wallet')));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(19).fill(409)]);
    const [first, compensating] = [await entryOf(granted.id), (await ledgerOf(player.wallet)).entries[0]];
    expect(compensating).toMatchObject({ points: -50, reason: 'revoke', source: 'adjustment', by: 'admin-1', note: 'wrong wallet', rewards: true });
    expect([first.revokedBy, compensating?.revokes]).toEqual([compensating?.id, granted.id]);
    expect((await breakdownOf(player)).regular).toMatchObject({ total: 0, sources: { adjustments: 0 } });
    expect(await globalScore(player.wallet)).toBeNull();
    expect(await countedToday(player.wallet)).toBe(0);
    expect(await statusAndBody(revoke(granted.id))).toEqual([409, { error: 'the entry is revoked already' }]);
    expect(await statusAndBody(revoke(compensating?.id ?? ''))).toEqual([409, { error: 'a compensating entry cannot be revoked' }]);
  });

  test('takes the points of a completed quest back; the completion stays with 0 points', async () => {
    const player = await signIn(t);
    const quest = await makeQuest(t, { requirement: { type: 'manual' }, points: 100 });
    expect((await asAdmin(t, `/admin/quests/${quest}/complete`, { json: { wallet: player.wallet } })).status).toBe(200);
    const [entry] = (await ledgerOf(player.wallet)).entries;
    expect(entry).toMatchObject({ source: 'quest', points: 100, cause: `${quest}:once`, by: 'admin-1' });
    await revoked(entry?.id ?? '');
    expect(await ownQuest(player, quest)).toMatchObject({ completed: true, pointsAwarded: 0 });
    expect((await asAdmin(t, `/admin/quests/${quest}/complete`, { json: { wallet: player.wallet } })).status).toBe(409);
    expect((await breakdownOf(player)).regular).toMatchObject({ total: 0, sources: { quests: 0, games: 0 } });
    const listed = await player.fetch('/ledger/quests');
    expect(listed.headers.get('X-Total-Count')).toBe('2');
    expect(await listed.json()).toMatchObject([
      { questId: quest, window: 'once', points: -100, reason: 'revoke', note: 'a mistake', factors: { basePoints: 100 } },
      { questId: quest, window: 'once', points: 100, reason: 'quest', revoked: true, factors: { basePoints: 100 } },
    ]);
    expect(await (await asAdmin(t, `/quests/${quest}`)).json()).toMatchObject({ completions: 1, pointsAwarded: 0 });
  });

  test('reverses both entries of a conversion of beta points', async () => {
    const player = await signIn(t);
    await givePoints(t.app, { wallet: player.wallet, points: 100, mode: 'beta' });
    expect((await asAdmin(t, '/api/beta/convert', { json: { wallet: player.wallet, rate: '0.5' } })).status).toBe(200);
    const [one, two] = (await ledgerOf(player.wallet)).entries;
    expect([one?.points, two?.points].sort()).toEqual([-100, 50]);
    await revoked(one?.id ?? '');
    expect(await breakdownOf(player)).toMatchObject({
      regular: { total: 0, sources: { conversions: 0 } },
      beta: { total: 100, sources: { games: 100, conversions: 0 } },
    });
    expect(await statusAndBody(revoke(two?.id ?? ''))).toEqual([409, { error: 'the entry is revoked already' }]);
    expect((await ledgerOf(player.wallet)).total).toBe('5');
    expect(await (await player.fetch('/api/profile/beta-stats')).json()).toMatchObject({
      converted: { betaPoints: 0, points: 0, conversions: [{ betaPoints: 100, revoked: true }] },
    });
    expect((await asAdmin(t, '/api/beta/convert', { json: { wallet: player.wallet } })).status).toBe(200);
    expect((await breakdownOf(player)).regular.total).toBe(100);
  });

  test('refuses entries of scores, unknown ids and other scopes; a deduction of a banned wallet stays', async () => {
    const player = await signIn(t);
    await recordScores(t.app, player.wallet, [{ gameId: 'alpha', score: 5_000 }]);
    const [score] = (await ledgerOf(player.wallet)).entries;
    expect(score).toMatchObject({ source: 'score', reason: 'score', by: null, note: null });
    expect(await statusAndBody(revoke(score?.id ?? ''))).toEqual([
      409,
      { error: `the points of a score are taken back when the score is voided: POST /admin/scores/${score?.cause}/void` },
    ]);
    for (const id of ['x', 'quest:quest:regular:x:y', `quest:quest:other:${player.wallet}:a:once`, '%00', score?.id.replace('score:', 'score:a')]) {
      expect((await revoke(id ?? '')).status).toBe(404);
      expect((await asAdmin(t, `/admin/ledger/${id}`)).status).toBe(404);
    }
    expect((await asAdmin(t, `/admin/ledger/${score?.id}/revoke`, { json: {} })).status).toBe(400);
    const headers = { Authorization: `Bearer ${MODERATOR}` };
    expect((await send(t, `/admin/ledger/${score?.id}/revoke`, { json: { reason: 'x' }, headers })).status).toBe(403);
    const fine = await adjusted(player.wallet, { points: -5, reason: 'x' });
    await ban(player.wallet);
    expect(await statusAndBody(revoke(fine.id))).toEqual([409, { error: 'wallet must not be banned' }]);
  });
});

test('the ledger of a wallet is listed newest first, in pages, by source', async () => {
  const player = await signIn(t);
  await setBeta(player, true);
  await recordScores(t.app, player.wallet, [{ gameId: 'alpha', score: 5_000 }]);
  for (const points of [1, 2, 3]) await adjusted(player.wallet, { points, reason: 'x' });
  const { total, entries } = await ledgerOf(player.wallet);
  expect([total, entries.map(({ points }) => points).slice(0, 3)]).toEqual(['4', [3, 2, 1]]);
  expect((await ledgerOf(player.wallet, '?limit=1&offset=1')).entries.map(({ points }) => points)).toEqual([2]);
  const ofScores = await ledgerOf(player.wallet, '?source=score');
  expect([ofScores.total, ofScores.entries.map(({ mode }) => mode)]).toEqual(['1', ['beta']]);
  expect((await asAdmin(t, `/admin/wallets/${createWallet().address}/ledger`)).status).toBe(404);
});

test('an operator cannot complete a quest for a wallet that never signed in', async () => {
  const quest = await makeQuest(t, { requirement: { type: 'manual' } });
  const wallet = createWallet().address;
  expect(await statusAndBody(asAdmin(t, `/admin/quests/${quest}/complete`, { json: { wallet } }))).toEqual([
    404,
    { error: 'the wallet has never signed in' },
  ]);
  expect(await sql(t.app, 'select from players where wallet = $1', [wallet])).toEqual([]);
});
