import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { findGame, processScores } from '#areas/arcade';
import { recomputeBests } from '#areas/arcade/scores/bests.ts';
import { decideScore, voidScore } from '#areas/arcade/scores/decide.ts';
import { ensurePlayer, gameBoard } from '#areas/points';
import { newId } from '#lib/ids.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { registerGame, TEST_GAME } from '#test/support/areas/arcade.ts';
import { sql } from '#test/support/areas/boards.ts';
import { createWallet } from '#test/support/wallet.ts';

const GAME = 'decision-game';
const DECISION = { by: 'an operator', reason: 'a test' };

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  await registerGame(t.url, ADMIN_TOKEN, GAME, { ...TEST_GAME, verification: 'none' });
});
afterAll(() => t.close());

/** Records an accepted score of a wallet. @returns its id */
async function record(wallet: string, score: number, gameId = GAME): Promise<string> {
  const id = newId();
  await t.app.tx((tx) => ensurePlayer(tx, wallet));
  const [result] = await processScores(t.app, [
    {
      ...{ id, wallet, gameId, score, playId: null, durationMs: null, battleId: null, signature: null, replay: null, idempotencyKey: null },
      ...{ bodyHash: '0'.repeat(64), at: t.clock.now().toISOString() },
    },
  ]);
  expect(result?.outcome).toMatchObject({ status: 200, receipt: { status: 'accepted' } });
  return id;
}

test('a decision about a score that does not exist is refused with 404', async () => {
  const game = await findGame(t.app, GAME);
  if (!game) throw new Error('the game is missing');
  for (const verdict of ['accept', 'reject'] as const) {
    await expect(decideScore(t.app, game, randomUUID(), verdict, DECISION)).rejects.toMatchObject({ status: 404, message: 'no such score' });
  }
  await expect(voidScore(t.app, randomUUID(), DECISION)).rejects.toMatchObject({ status: 404, message: 'no such score' });
});

test('a decision about an accepted score is refused with 409, and a score is voided once', async () => {
  const game = await findGame(t.app, GAME);
  if (!game) throw new Error('the game is missing');
  const id = await record(createWallet().address, 50);
  await expect(decideScore(t.app, game, id, 'accept', DECISION)).rejects.toMatchObject({ status: 409 });
  await voidScore(t.app, id, DECISION);
  await expect(voidScore(t.app, id, DECISION)).rejects.toMatchObject({ status: 409 });
});

test('after scores of several days are voided, each period has the best of its remaining scores', async () => {
  const wallet = createWallet().address;
  const at = (text: string) => t.clock.set(new Date(text));
  await at('2041-06-11T12:00:00Z');
  const older = await record(wallet, 40);
  await record(wallet, 10);
  await at('2041-06-12T12:00:00Z');
  const newer = await record(wallet, 90);
  await record(wallet, 20);
  const bests = async () => {
    const columns = 'total::int, day_value::int as day, day_before_value::int as before, year_value::int as year';
    const [row] = await sql(t.app, `select ${columns} from standings where board = $1 and wallet = $2`, [gameBoard(GAME), wallet]);
    return row;
  };
  const values = await sql<{ score: number; normalized: number }>(t.app, 'select score::int, normalized from scores where wallet = $1', [wallet]);
  const of = (score: number) => values.find((row) => row.score === score)?.normalized;
  expect(await bests()).toEqual({ total: of(90), day: of(90), before: of(40), year: of(90) });
  await voidScore(t.app, newer, DECISION);
  expect(await bests()).toEqual({ total: of(40), day: of(20), before: of(40), year: of(40) });
  await voidScore(t.app, older, DECISION);
  expect(await bests()).toEqual({ total: of(20), day: of(20), before: of(10), year: of(20) });
});

test('best scores of a wallet without a standing are not recomputed', async () => {
  expect(await t.app.tx((tx) => recomputeBests(tx, GAME, 'regular', createWallet().address))).toEqual([]);
});

test('the void of a score without points appends no ledger row', async () => {
  const capped = 'capped-decision-game';
  await registerGame(t.url, ADMIN_TOKEN, capped, { ...TEST_GAME, verification: 'none', caps: { ...TEST_GAME.caps, dailyPoints: 0 } });
  const wallet = createWallet().address;
  const id = await record(wallet, 60, capped);
  await voidScore(t.app, id, DECISION);
  expect(await sql(t.app, 'select status, points::int from scores where id = $1', [id])).toEqual([{ status: 'voided', points: 0 }]);
  expect(await sql(t.app, 'select reason from ledger where wallet = $1', [wallet])).toEqual([]);
});

test('each score is published to its wallet with its points, and a best score in regular mode changes the board for everybody', async () => {
  const wallet = createWallet().address;
  const id = await record(wallet, 70);
  const published = (type: string, list: string) =>
    sql<{ item: Record<string, unknown> }>(
      t.app,
      `select item from outbox, jsonb_array_elements(payload::jsonb -> $3) item where type = $1 and item->>'wallet' = $2 order by outbox.id`,
      [type, wallet, list],
    );
  const [row] = await sql<{ points: number; normalized: number }>(t.app, 'select points::int, normalized from scores where id = $1', [id]);
  const change = { item: { wallet, gameId: GAME, score: row?.normalized } };
  const recorded = { wallet, gameId: GAME, scoreId: id, normalizedScore: row?.normalized, pointsAwarded: row?.points, personalBest: true };
  expect(await published('score_update', 'changes')).toEqual([change]);
  expect(await published('score_recorded', 'scores')).toMatchObject([{ item: recorded }]);
  await record(wallet, 60);
  expect(await published('score_update', 'changes')).toEqual([change]);
  expect(await published('score_recorded', 'scores')).toHaveLength(2);
  await sql(t.app, `update players set mode = 'beta' where wallet = $1`, [wallet]);
  await record(wallet, 80);
  expect(await published('score_update', 'changes')).toEqual([change]);
  expect(await published('score_recorded', 'scores')).toHaveLength(3);
});
