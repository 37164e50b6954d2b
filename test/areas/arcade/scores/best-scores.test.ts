import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { processScores, readBestScores } from '#areas/arcade';
import { voidScore } from '#areas/arcade/scores/decide.ts';
import { ensurePlayer, gameBoard } from '#areas/points';
import { newId } from '#lib/ids.ts';
import { bucketOf, dayNumber } from '#lib/periods.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { registerGame, TEST_GAME } from '#test/support/areas/arcade.ts';
import { sql } from '#test/support/areas/boards.ts';
import { createWallet } from '#test/support/wallet.ts';

/** Ten raw scores have the same normalized score. */
const GAME = 'coarse-game';
const DECISION = { by: 'an operator', reason: 'a test' };
const monthOf = (date: string) => bucketOf('month', dayNumber(new Date(`${date}-01T00:00:00Z`)));
const DETACHED = monthOf('2041-04');

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  await registerGame(t.url, ADMIN_TOKEN, GAME, {
    ...{ ...TEST_GAME, verification: 'none', normalization: { ...TEST_GAME.normalization, max: 100_000 } },
  });
  await sql(
    t.app,
    `insert into closed_partitions (relation, month, columns, blocks, closed_at, exported_at, detached_at)
     values ('scores', $1, '{}', 0, app_now(), app_now(), app_now()), ('scores', $1 + 1, '{}', 0, app_now(), app_now(), null)`,
    [DETACHED],
  );
});
afterAll(() => t.close());

/** Records a score at a time. @returns its id */
async function record(wallet: string, score: number, at: string): Promise<string> {
  await t.clock.set(new Date(at));
  const id = newId();
  await t.app.tx((tx) => ensurePlayer(tx, wallet));
  const [result] = await processScores(t.app, [
    {
      ...{ id, wallet, gameId: GAME, score, playId: null, durationMs: null, battleId: null, signature: null, replay: null, idempotencyKey: null },
      ...{ bodyHash: '0'.repeat(64), at: t.clock.now().toISOString() },
    },
  ]);
  expect(result?.outcome).toMatchObject({ status: 200, receipt: { status: 'accepted', normalizedScore: Math.floor(score / 10) } });
  return id;
}

interface Carried {
  wallet: string;
  /** The submitted value of the best score. */
  best: number;
  at: string;
  month?: number;
  paidMonth?: number;
}
/** Stores the sums of a closed month of scores. */
const carry = ({ wallet, best, at, month = DETACHED, paidMonth = month }: Carried) =>
  sql(
    t.app,
    `insert into carried_games (wallet, month, mode, game_id, paid_month, plays, scores, points, best, best_score, best_at, normalized)
     values ($1, $2, 'regular', $3, $4, 1, 1, 0, $5::int, $6::int, $7, $5::int)`,
    [wallet, month, GAME, paidMonth, Math.floor(best / 10), best, at],
  );

test('the score behind a line of a board is the first one of these days with its value, accepted, or voided, or of a detached month', async () => {
  const [twice, late, voided, again, carried, kept, gone] = Array.from({ length: 7 }, () => createWallet().address) as [
    ...[string, string, string, string, string, string, string],
  ];
  const day = dayNumber(new Date('2041-06-12T00:00:00Z'));
  await record(late, 5_001, '2041-06-11T12:00:00Z');
  await record(twice, 5_002, '2041-06-12T12:00:00Z');
  await record(twice, 5_003, '2041-06-12T12:00:01Z');
  await record(twice, 4_000, '2041-06-12T12:00:02Z');
  await record(late, 5_004, '2041-06-12T12:00:03Z');
  await voidScore(t.app, await record(voided, 5_005, '2041-06-12T12:00:04Z'), DECISION);
  await voidScore(t.app, await record(again, 5_006, '2041-06-12T12:00:05Z'), DECISION);
  await record(again, 5_007, '2041-06-12T12:00:06Z');
  await carry({ wallet: carried, best: 5_008, at: '2041-06-12T23:30:00Z' });
  await carry({ wallet: kept, best: 5_009, at: '2041-06-12T12:00:00Z', month: DETACHED + 1 });
  const read = async (wallets: string[], first = day, last = day) =>
    (
      await readBestScores(
        t.app.db,
        GAME,
        { first, last },
        wallets.map((wallet) => ({ wallet, score: 500 })),
      )
    ).map((found) => found && [found.rawScore, found.at.slice(0, 19)]);
  expect(await read([carried, gone, again, voided, kept, late, twice])).toEqual([
    [5_008, '2041-06-12T23:30:00'],
    null,
    [5_007, '2041-06-12T12:00:06'],
    [5_005, '2041-06-12T12:00:04'],
    null,
    [5_004, '2041-06-12T12:00:03'],
    [5_002, '2041-06-12T12:00:00'],
  ]);
  expect(await read([late], day - 1)).toEqual([[5_001, '2041-06-11T12:00:00']]);
  expect(await read([carried], day - 1, day - 1)).toEqual([null]);
  expect(await read([carried], day + 1, day + 1)).toEqual([null]);
});

test('after voids, a best score of a detached month counts in the periods that include the first day of the month in which it was accepted', async () => {
  const wallet = createWallet().address;
  // 1 September 2041 is a Sunday, the last day of its week.
  const ids = [await record(wallet, 300, '2041-08-30T12:00:00Z'), await record(wallet, 400, '2041-09-03T12:00:00Z')];
  await carry({ wallet, best: 700, at: '2041-04-10T12:00:00Z', paidMonth: monthOf('2041-09') });
  await carry({ wallet, best: 900, at: '2041-05-10T12:00:00Z', month: DETACHED + 1 });
  for (const id of ids) await voidScore(t.app, id, DECISION);
  const columns = ['total', 'day', 'week', 'week_before', 'month', 'month_before', 'year'].map(
    (column) => `${column === 'total' ? 'total' : `${column}_value`}::int as ${column}`,
  );
  const [row] = await sql(t.app, `select ${columns.join(', ')} from standings where board = $1 and wallet = $2`, [gameBoard(GAME), wallet]);
  expect(row).toEqual({ total: 70, day: 0, week: 0, week_before: 70, month: 70, month_before: 0, year: 70 });
});
