import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { countScores, ensurePlayer, grantPoints, lockPlayers, type Player, retakePoints, returnPoints, saveEarnings } from '#areas/points';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { createWallet } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t.close());

const playerOf = (change: Partial<Player> = {}): Player => ({
  ...{ wallet: 'a', mode: 'regular', banned: false, earnedDay: 10, earned: 0, earnedByGame: {}, tally: {} },
  ...{ lastScoreAt: null, overlapMs: 0 },
  ...change,
});

test('granted points stop at the cap of the game and at the cap of all games, and begin again on the next day', () => {
  const player = playerOf();
  const today = { at: new Date(), day: 10 };
  const grant = (game: string, points: number, open = today) => grantPoints(player, open, game, points, { game: 100, all: 150 });
  expect([grant('a', 70), grant('a', 70), grant('a', 1), grant('b', 70), grant('b', 1)]).toEqual([70, 30, 0, 50, 0]);
  expect(player).toMatchObject({ earnedDay: 10, earned: 150, earnedByGame: { a: 100, b: 50 } });
  // A transaction that began on the day before does not reset the earnings.
  expect(grant('c', 5, { ...today, day: 9 })).toBe(0);
  expect(grant('constructor', 5, { ...today, day: 11 })).toBe(5);
  expect(player).toMatchObject({ earnedDay: 11, earned: 5, earnedByGame: { constructor: 5 } });
  expect(grantPoints(playerOf({ earned: 200 }), today, 'a', 10, { game: 100, all: 150 })).toBe(0);
});

test('the points of a voided score can be earned again on the same day, and its restoration takes them from the caps again', () => {
  const player = playerOf({ earned: 100, earnedByGame: { a: 70, b: 30 } });
  for (const change of [returnPoints, retakePoints]) change(player, 9, 'a', 5);
  expect(player).toMatchObject({ earned: 100, earnedByGame: { a: 70, b: 30 } });
  returnPoints(player, 10, 'a', 50);
  expect(player).toMatchObject({ earned: 50, earnedByGame: { a: 20, b: 30 } });
  // Never returns more than the player earned in the game.
  returnPoints(player, 10, 'a', 50);
  returnPoints(player, 10, 'constructor', 50);
  expect(player).toMatchObject({ earned: 30, earnedByGame: { a: 0, b: 30 } });
  retakePoints(player, 9, 'a', 40);
  retakePoints(player, 10, 'a', 40);
  retakePoints(player, 10, 'c', 7);
  expect(player).toMatchObject({ earned: 77, earnedByGame: { a: 40, b: 30, c: 7 } });
});

test('a tally counts scores and points by mode and game, and voided scores are subtracted', () => {
  const player = playerOf();
  countScores(player, 'regular', 'a', 1, 10);
  countScores(player, 'regular', 'a', 2, 5);
  countScores(player, 'beta', 'a', 1, 7);
  countScores(player, 'regular', 'constructor', 1, 3);
  countScores(player, 'regular', 'a', -1, -10);
  expect(player.tally).toEqual({
    regular: { a: { scores: 2, points: 5 }, constructor: { scores: 1, points: 3 } },
    beta: { a: { scores: 1, points: 7 } },
  });
});

test('saved earnings are read back for their own wallet', async () => {
  const wallets = [createWallet().address, createWallet().address];
  await t.app.tx(async (tx) => {
    for (const wallet of wallets) await ensurePlayer(tx, wallet);
  });
  const saved = wallets.map((wallet, i) =>
    playerOf({
      ...{ wallet, earnedDay: 20 + i, earned: 30 + i, earnedByGame: { a: i }, tally: { regular: { a: { scores: i, points: 2 * i } } } },
      ...(i === 0 ? {} : { lastScoreAt: Date.parse('2034-06-15T12:34:56.789Z'), overlapMs: 250 }),
    }),
  );
  await t.app.tx((tx) => saveEarnings(tx, saved));
  const read = await t.app.tx((tx) => lockPlayers(tx, [...wallets, ...wallets]));
  expect(wallets.map((wallet) => read.get(wallet))).toEqual(saved);
});
