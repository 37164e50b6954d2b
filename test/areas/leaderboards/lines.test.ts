import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { rebuildBoard } from '#areas/points';
import { linkAccount } from '#areas/social';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { registerGame, TEST_GAME } from '#test/support/areas/arcade.ts';
import { loseBoards } from '#test/support/areas/boards.ts';
import { createWallet, type SignedIn, send, signIn } from '#test/support/wallet.ts';

/** A game whose raw scores are ten times as large as its normalized scores. */
const WIDE_GAME = { ...TEST_GAME, verification: 'none', normalization: { method: 'linear', min: 0, max: 100_000, direction: 'higher' } };
const DAY = '2033-03-09';

interface Line {
  rank: number;
  wallet: string;
  name: string | null;
  score: number;
  rawScore: number | null;
  at: string | null;
}

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp();
  await t.clock.set(new Date(`${DAY}T10:00:00Z`));
  for (const id of ['wide-game', 'tied-game', 'named-game', 'paged-game']) await registerGame(t.url, ADMIN_TOKEN, id, WIDE_GAME);
});
afterAll(() => t.close());

async function score(player: SignedIn, gameId: string, raw: number): Promise<{ id: string; at: string }> {
  const response = await player.fetch('/arcade/score', { json: { gameId, score: raw } });
  expect(response.status).toBe(200);
  const { scoreId: id } = (await response.json()) as { scoreId: string };
  const { submittedAt: at } = (await (await player.fetch(`/arcade/score/${id}`)).json()) as { submittedAt: string };
  return { id, at };
}
const lines = async (path: string, by: { fetch: SignedIn['fetch'] } = { fetch: (at) => fetch(`${t.url}${at}`) }) =>
  (await (await by.fetch(path)).json()) as Line[];
const link = (wallet: string, handle: string, platform = 'x') =>
  t.app.tx((tx) => linkAccount(tx, { platform, accountId: randomUUID(), handle, wallet }));

test('a line of a game board has the raw score and the time of the score, from Redis and by SQL', async () => {
  const player = await signIn(t);
  await score(player, 'wide-game', 31_004);
  const best = await score(player, 'wide-game', 52_347);
  await score(player, 'wide-game', 40_000);
  const line = { rank: 1, wallet: player.wallet, name: null, score: 5_234, rawScore: 52_347, at: best.at };
  expect(await lines('/game/wide-game/leaderboard')).toEqual([line]);
  expect(await lines('/game/wide-game/leaderboard?period=day')).toEqual([line]);
  await loseBoards(t.app, 'ready');
  expect(await lines('/game/wide-game/leaderboard?period=week')).toEqual([line]);
  await rebuildBoard(t.app, 'game:wide-game');
  const better = await score(player, 'wide-game', 52_351);
  expect(await lines('/game/wide-game/leaderboard')).toEqual([{ ...line, score: 5_235, rawScore: 52_351, at: better.at }]);
});

test('a line of a period has the first score of the period with its value, and after a void the remaining score', async () => {
  const player = await signIn(t);
  const first = await score(player, 'tied-game', 20_001);
  await t.clock.set(new Date('2033-03-10T10:00:00Z'));
  const second = await score(player, 'tied-game', 20_002);
  await score(player, 'tied-game', 20_003);
  const line = { rank: 1, wallet: player.wallet, name: null, score: 2_000 };
  expect(await lines('/game/tied-game/leaderboard')).toEqual([{ ...line, rawScore: 20_001, at: first.at }]);
  expect(await lines('/game/tied-game/leaderboard?period=day')).toEqual([{ ...line, rawScore: 20_002, at: second.at }]);
  expect(await lines(`/game/tied-game/leaderboard?period=day&at=${DAY}`)).toEqual([{ ...line, rawScore: 20_001, at: first.at }]);
  await send(t, `/admin/scores/${second.id}/void`, { json: { reason: 'a test' }, headers: { Authorization: `Bearer ${ADMIN_TOKEN}` } });
  // Lines of ended days are not cached yet for this week, so the page shows the remaining scores at once.
  expect(await lines('/game/tied-game/leaderboard?period=month')).toEqual([{ ...line, rawScore: 20_001, at: first.at }]);
});

test('a line has the handle of the linked account, on boards of points without a raw score and a time', async () => {
  const [named, stranger] = [await signIn(t), await signIn(t)];
  await score(named, 'named-game', 30_000);
  await score(stranger, 'named-game', 20_000);
  const names = async () => (await lines('/game/named-game/leaderboard')).map(({ name }) => name);
  expect(await names()).toEqual([null, null]);
  await link(named.wallet, 'on_a_bridge', 'another-chat');
  await link(named.wallet, 'night_owl');
  // A handle that reads like a name on the chain could impersonate its owner.
  await link(stranger.wallet, 'coinop.SOL', 'another-chat');
  await sleep(2_100);
  expect(await names()).toEqual(['night_owl', null]);
  const global = (await lines('/leaderboard/global')).find(({ wallet }) => wallet === named.wallet);
  expect(global).toMatchObject({ name: 'night_owl', rawScore: null, at: null });
  const rank = (await (await stranger.fetch('/game/named-game/rank')).json()) as { neighbours: Line[] };
  expect(rank.neighbours).toEqual([expect.objectContaining({ wallet: named.wallet, name: 'night_owl', rawScore: 30_000 })]);
  // Another account takes over the handle, so the other linked account names the wallet.
  await link(stranger.wallet, 'Night_Owl');
  await sleep(2_100);
  expect(await names()).toEqual(['on_a_bridge', 'Night_Owl']);
});

test('a page of cached lines costs no query', async () => {
  const player = await signIn(t);
  await score(player, 'wide-game', 70_000);
  await lines('/game/wide-game/leaderboard');
  const queries: string[] = [];
  const query = t.app.db.query;
  t.app.db.query = ((statement, values) => {
    queries.push(statement.name ?? statement.text);
    return query.call(t.app.db, statement, values);
  }) as typeof query;
  try {
    for (let i = 0; i < 5; i++) expect((await lines('/game/wide-game/leaderboard'))[0]).toMatchObject({ rawScore: 70_000 });
  } finally {
    t.app.db.query = query;
  }
  expect(queries).toEqual([]);
});

test('GET /leaderboard/…/rank?wallet= answers the rank of another wallet', async () => {
  const [best, other] = [await signIn(t), await signIn(t)];
  await score(best, 'paged-game', 90_000);
  const paths = ['/game/paged-game/rank', '/leaderboard/global/rank', '/leaderboard/quests/rank', '/game/referral/rank'];
  for (const path of paths) {
    const own = await (await best.fetch(path)).json();
    const seen = await other.fetch(`${path}?wallet=${best.wallet}`);
    expect(await seen.json()).toEqual(own);
    expect(await (await other.fetch(`${path}?wallet=${createWallet().address}`)).json()).toMatchObject({ rank: null });
    expect((await other.fetch(`${path}?wallet=nobody`)).status).toBe(400);
    expect((await fetch(`${t.url}${path}?wallet=${best.wallet}`)).status).toBe(401);
  }
  expect(await (await other.fetch(`/game/paged-game/rank?wallet=${best.wallet}`)).json()).toMatchObject({ rank: 1, score: 9_000 });
});

test('a page around the caller is full at both ends of the board', async () => {
  const players: SignedIn[] = [];
  for (let i = 0; i < 9; i++) {
    const player = await signIn(t);
    await score(player, 'paged-game', 80_000 - 1_000 * i);
    players.push(player);
  }
  const ranks = async (player: SignedIn | undefined, query: string) =>
    player ? (await lines(`/game/paged-game/leaderboard?around=me&${query}`, player)).map(({ rank }) => rank) : [];
  for (const source of ['Redis', 'SQL']) {
    if (source === 'SQL') await loseBoards(t.app, 'ready');
    for (const span of ['', '&period=month']) {
      expect(await ranks(players[8], `limit=5${span}`)).toEqual([6, 7, 8, 9, 10]);
      expect(await ranks(players[7], `limit=4${span}`)).toEqual([7, 8, 9, 10]);
      expect(await ranks(players[4], `limit=5${span}`)).toEqual([4, 5, 6, 7, 8]);
      expect(await ranks(players[0], `limit=5${span}`)).toEqual([1, 2, 3, 4, 5]);
      expect(await ranks(players[8], `limit=500${span}`)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
      expect(await ranks(await signIn(t), `limit=2${span}`)).toEqual([1, 2]);
    }
  }
});
