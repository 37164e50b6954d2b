import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { expectConsistent, playAndScore, registerGame, requestAsAdmin, startPlay, submitScore, TEST_GAME } from '#test/support/areas/arcade.ts';
import { type SignedIn, signIn } from '#test/support/wallet.ts';

/** A game with the rules that every game has by default. */
const { maxLivePlays: _plays, review: _review, ...WITH_DEFAULT_RULES } = TEST_GAME;
const RULES = { ...WITH_DEFAULT_RULES, normalization: { ...TEST_GAME.normalization, max: 100_000 } };

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp();
});
afterAll(async () => {
  await expectConsistent(t);
  await t.close();
});

const waitMinutes = (minutes: number) => t.clock.set(new Date(t.clock.now().getTime() + minutes * 60_000));
const boardOf = async (gameId: string) => (await (await fetch(`${t.url}/game/${gameId}/leaderboard`)).json()) as { wallet: string; rank: number }[];
const heldOf = async (wallet: string) =>
  Number((await requestAsAdmin(t, `/admin/scores?status=held&wallet=${wallet}&limit=1`)).headers.get('X-Total-Count'));

/**
 * Submits a good score and four lower ones of each of ten honest wallets, so that the board has a full top ten. Each wallet plays often enough to be no
 * newcomer.
 */
async function honestPlayers(gameId: string, count = 10): Promise<SignedIn[]> {
  const players = await Promise.all(Array.from({ length: count }, () => signIn(t)));
  for (const [i, player] of players.entries()) {
    for (const score of [30_000 + 1_000 * i, ...[1, 2, 3, 4].map((n) => 20_000 + 10 * i + n)]) {
      expect((await playAndScore(player, gameId, score)).body).toMatchObject({ status: 'accepted' });
    }
  }
  return players;
}

test('a bot that plays fifty plays at once with the maximum score gets on no board, and leaves one held score at most', async () => {
  await registerGame(t.url, ADMIN_TOKEN, 'fifty', RULES);
  const bot = await signIn(t);
  const plays: string[] = [];
  for (let i = 0; i < 50; i++) plays.push(await startPlay(bot, 'fifty'));
  await waitMinutes(1);
  const results = await Promise.all(plays.map((playId) => submitScore(bot, { gameId: 'fifty', score: 100_000, playId })));
  expect(results.filter(({ status }) => status === 400)).toHaveLength(49);
  expect(results[0]?.body.error).toBe('playId must name a live play: the wallet started another play of the game after this one, which ended it');
  expect(results.at(-1)?.body).toMatchObject({ status: 'held', pointsAwarded: 0 });
  expect(await boardOf('fifty')).toEqual([]);
});

test('a play that another play ended stays ended, although a score of another game names it at the same time', async () => {
  await registerGame(t.url, ADMIN_TOKEN, 'one-live', RULES);
  await registerGame(t.url, ADMIN_TOKEN, 'many-live', { ...RULES, maxLivePlays: 1_000 });
  const bot = await signIn(t);
  const ended = await startPlay(bot, 'one-live');
  await startPlay(bot, 'one-live');
  await waitMinutes(1);
  for (const games of [
    ['one-live', 'many-live'],
    ['many-live', 'one-live'],
  ]) {
    const results = await Promise.all(games.map((gameId) => submitScore(bot, { gameId, score: 20_000, playId: ended })));
    const errors = new Map(games.map((gameId, i) => [gameId, results[i]?.body.error]));
    expect(errors.get('one-live')).toContain('playId must name a live play');
    expect(errors.get('many-live')).toBe('playId must name a play that you started in this game');
  }
});

test('a bot that repeats one score is held from the fourth score on', async () => {
  await registerGame(t.url, ADMIN_TOKEN, 'repeated', RULES);
  const bot = await signIn(t);
  const statuses: unknown[] = [];
  for (let i = 0; i < 5; i++) statuses.push((await playAndScore(bot, 'repeated', 77_777)).body.status);
  expect(statuses).toEqual(['accepted', 'accepted', 'accepted', 'held', 'held']);
});

test('plays in several games that together are longer than the time that passed are held', async () => {
  const games = ['side-a', 'side-b', 'side-c'];
  for (const game of games) await registerGame(t.url, ADMIN_TOKEN, game, RULES);
  const bot = await signIn(t);
  const statuses: unknown[] = [];
  for (let round = 0; round < 2; round++) {
    const plays = await Promise.all(games.map((game) => startPlay(bot, game)));
    await waitMinutes(8);
    for (const [i, gameId] of games.entries()) {
      statuses.push((await submitScore(bot, { gameId, score: 20_000 + round, playId: plays[i], durationMs: 480_000 })).body.status);
    }
  }
  // Two plays of eight minutes may overlap by eight minutes; a third play may not.
  expect(statuses).toEqual(['accepted', 'accepted', 'held', 'held', 'held', 'held']);
});

test('a farm of new wallets does not get into a full top ten, and honest players keep their ranks', async () => {
  await registerGame(t.url, ADMIN_TOKEN, 'farmed', RULES);
  const honest = await honestPlayers('farmed');
  // The worker may know the top ten as it was a second ago.
  await sleep(1_100);
  const farm = await Promise.all(Array.from({ length: 20 }, () => signIn(t)));
  const results = await Promise.all(farm.map((wallet, i) => playAndScore(wallet, 'farmed', 80_000 + i)));
  expect(results.map(({ body }) => body.status)).toEqual(farm.map(() => 'held'));
  expect((await boardOf('farmed')).map(({ wallet }) => wallet)).toEqual(honest.map(({ wallet }) => wallet).reverse());
  const best = honest.at(-1);
  if (!best) throw new Error('there is no honest player');
  expect((await playAndScore(best, 'farmed', 60_000)).body).toMatchObject({ status: 'accepted', rank: { rank: 1 } });
});

test('a wallet that floods the queue of moderators leaves twenty held scores at most, and may still submit plausible scores', async () => {
  await registerGame(t.url, ADMIN_TOKEN, 'flooded', RULES);
  const flooder = await signIn(t);
  const statuses: number[] = [];
  for (let i = 0; i < 25; i++) statuses.push((await playAndScore(flooder, 'flooded', 100_000 - i)).status);
  expect(statuses).toEqual([...Array(20).fill(200), ...Array(5).fill(409)]);
  expect(await heldOf(flooder.wallet)).toBe(20);
  expect((await playAndScore(flooder, 'flooded', 40_000)).body).toMatchObject({ status: 'accepted' });
});

test('a banned cheat is on no board and the honest players move up, until the ban ends', async () => {
  await registerGame(t.url, ADMIN_TOKEN, 'cheated', RULES);
  const honest = await honestPlayers('cheated', 3);
  const cheat = await signIn(t);
  expect((await playAndScore(cheat, 'cheated', 95_000)).body).toMatchObject({ status: 'accepted', rank: { rank: 1 } });
  const before = await boardOf('cheated');
  expect((await requestAsAdmin(t, `/admin/wallets/${cheat.wallet}/ban`, { reason: 'bot' })).status).toBe(200);
  await expectConsistent(t);
  expect((await boardOf('cheated')).map(({ rank, wallet }) => [rank, wallet])).toEqual(honest.map(({ wallet }, i) => [3 - i, wallet]).reverse());
  const global = (await (await fetch(`${t.url}/leaderboard/global?limit=500`)).json()) as { wallet: string }[];
  expect(global.map(({ wallet }) => wallet)).not.toContain(cheat.wallet);
  expect((await requestAsAdmin(t, `/admin/wallets/${cheat.wallet}/unban`, {})).status).toBe(200);
  await expectConsistent(t);
  expect(await boardOf('cheated')).toEqual(before);
});
