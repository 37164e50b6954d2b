import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { findGame, type Game, processScores } from '#areas/arcade';
import { readRecordedLine } from '#areas/arcade/events.ts';
import { recomputeBests } from '#areas/arcade/scores/bests.ts';
import { decideScore, voidScore, voidScores } from '#areas/arcade/scores/decide.ts';
import { restoreScore } from '#areas/arcade/scores/restore.ts';
import { ensurePlayer, gameBoard } from '#areas/points';
import { newId } from '#lib/ids.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { LENIENT, registerGame, TEST_GAME } from '#test/support/areas/arcade.ts';
import { sql } from '#test/support/areas/boards.ts';
import { createWallet } from '#test/support/wallet.ts';

const GAME = 'decision-game';
/** Holds each score from 5,000 on. */
const STRICT = 'strict-decision-game';
/** Gives at most 100 points a day. */
const CAPPED = 'hundred-points-game';
/** Gives up to 200 points per score, which is more than the daily cap over all games. */
const RICH = 'rich-decision-game';
const DAILY_POINTS_CAP = 150;
const DECISION = { by: 'an operator', reason: 'a test' };

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false, env: { DAILY_POINTS_CAP: String(DAILY_POINTS_CAP) } });
  const free = { ...TEST_GAME, verification: 'none' };
  await registerGame(t.url, ADMIN_TOKEN, GAME, free);
  await registerGame(t.url, ADMIN_TOKEN, STRICT, { ...free, review: { ...LENIENT.review, perfectFrom: 5_000 } });
  await registerGame(t.url, ADMIN_TOKEN, CAPPED, { ...free, caps: { ...TEST_GAME.caps, dailyPoints: 100 } });
  await registerGame(t.url, ADMIN_TOKEN, RICH, { ...free, pointsPer10000: 200 });
});
afterAll(() => t.close());

/** Records a score of a wallet. @returns its id */
async function record(wallet: string, score: number, gameId = GAME, status = 'accepted'): Promise<string> {
  const id = newId();
  await t.app.tx((tx) => ensurePlayer(tx, wallet));
  const [result] = await processScores(t.app, [
    {
      ...{ id, wallet, gameId, score, playId: null, durationMs: null, battleId: null, signature: null, replay: null, idempotencyKey: null },
      ...{ bodyHash: '0'.repeat(64), at: t.clock.now().toISOString() },
    },
  ]);
  expect(result?.outcome).toMatchObject({ status: 200, receipt: { status } });
  return id;
}
const hold = (wallet: string, score: number) => record(wallet, score, STRICT, 'held');

async function decide(id: string, verdict: 'accept' | 'reject' = 'accept'): Promise<void> {
  await decideScore(t.app, await gameOf(STRICT), id, verdict, DECISION);
}
async function gameOf(gameId: string): Promise<Game> {
  const game = await findGame(t.app, gameId);
  if (!game) throw new Error('the game is missing');
  return game;
}
const voidIt = (id: string) => voidScore(t.app, id, DECISION);
const restore = async (id: string, gameId: string) => restoreScore(t.app, await gameOf(gameId), id, DECISION);

/** Reads the published changes of boards of a wallet, oldest first. */
const publishedChanges = (wallet: string) =>
  sql<{ item: Record<string, unknown> }>(
    t.app,
    `select item from outbox, jsonb_array_elements(payload::jsonb -> 'changes') item where type = 'score_update' and item->>'wallet' = $1 order by outbox.id`,
    [wallet],
  );

/** Reads the published scores of a wallet, oldest first. */
async function publishedScores(wallet: string): Promise<object[]> {
  const lines = await sql<{ line: string }>(
    t.app,
    `select line from outbox, json_array_elements_text(payload -> 'scores') line where type = 'score_recorded' and line like $1 || ' %' order by outbox.id`,
    [wallet],
  );
  return lines.map(({ line }) => {
    const { receipt, ...score } = readRecordedLine(line);
    return { ...score, ...JSON.parse(`{${receipt}}`) };
  });
}

test('a decision about a score that does not exist is refused with 404', async () => {
  const game = await gameOf(GAME);
  for (const verdict of ['accept', 'reject'] as const) {
    await expect(decideScore(t.app, game, randomUUID(), verdict, DECISION)).rejects.toMatchObject({ status: 404, message: 'no such score' });
  }
  await expect(voidScore(t.app, randomUUID(), DECISION)).rejects.toMatchObject({ status: 404, message: 'no such score' });
});

test('a decision about an accepted score is refused with 409, and a score is voided once', async () => {
  const game = await gameOf(GAME);
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
  const [row] = await sql<{ points: number; normalized: number }>(t.app, 'select points::int, normalized from scores where id = $1', [id]);
  const change = { item: { wallet, gameId: GAME, score: row?.normalized } };
  const recorded = { wallet, gameId: GAME, scoreId: id, normalizedScore: row?.normalized, pointsAwarded: row?.points, personalBest: true };
  expect(await publishedChanges(wallet)).toEqual([change]);
  expect(await publishedScores(wallet)).toMatchObject([recorded]);
  await record(wallet, 60);
  expect(await publishedChanges(wallet)).toEqual([change]);
  expect(await publishedScores(wallet)).toHaveLength(2);
  await sql(t.app, `update players set mode = 'beta' where wallet = $1`, [wallet]);
  await record(wallet, 80);
  expect(await publishedChanges(wallet)).toEqual([change]);
  expect(await publishedScores(wallet)).toHaveLength(3);
});

test('a score of a wallet that does not exist cannot be decided', async () => {
  const wallet = createWallet().address;
  const id = await hold(wallet, 5_000);
  await sql(t.app, 'delete from players where wallet = $1', [wallet]);
  await expect(decide(id)).rejects.toMatchObject({ status: 404, message: 'no such score' });
});

test('the board of a game changes for everybody only if a decision changes the line of the wallet', async () => {
  const wallet = createWallet().address;
  const values = async () => (await publishedChanges(wallet)).map(({ item }) => item.score);
  await record(wallet, 4_000, STRICT);
  const [best, lower, rejected] = [await hold(wallet, 7_000), await hold(wallet, 6_000), await hold(wallet, 8_000)];
  expect(await values()).toEqual([4_000]);
  await decide(best);
  expect(await values()).toEqual([4_000, 7_000]);
  await decide(lower);
  await decide(rejected, 'reject');
  await voidIt(lower);
  await restore(lower, STRICT);
  expect(await values()).toEqual([4_000, 7_000]);
  await voidIt(best);
  expect(await values()).toEqual([4_000, 7_000, 6_000]);
  await restore(best, STRICT);
  expect(await values()).toEqual([4_000, 7_000, 6_000, 7_000]);
  const only = createWallet().address;
  await voidIt(await record(only, 100, STRICT));
  expect((await publishedChanges(only)).map(({ item }) => item.score)).toEqual([100, null]);
});

test('in beta mode no decision changes the public board', async () => {
  const wallet = createWallet().address;
  await t.app.tx((tx) => ensurePlayer(tx, wallet));
  await sql(t.app, `update players set mode = 'beta' where wallet = $1`, [wallet]);
  const id = await hold(wallet, 7_000);
  await decide(id);
  await voidIt(id);
  await restore(id, STRICT);
  expect(await publishedChanges(wallet)).toEqual([]);
});

test('voids and restorations change the ledger, the activities and the tally of the wallet by the score and its points', async () => {
  const wallet = createWallet().address;
  const id = await record(wallet, 5_000);
  await record(wallet, 2_000);
  const tallies: unknown[] = [];
  const noteTally = async () => {
    const [row] = await sql<{ tally: unknown }>(t.app, `select tally->'regular'->$2 as tally from players where wallet = $1`, [wallet, GAME]);
    tallies.push(row?.tally);
  };
  await noteTally();
  for (const change of [() => voidIt(id), () => restore(id, GAME), () => voidIt(id)]) {
    await change();
    await noteTally();
  }
  const [both, one] = [
    { scores: 2, points: 70 },
    { scores: 1, points: 20 },
  ];
  expect(tallies).toEqual([both, one, both, one]);
  expect(await sql(t.app, 'select reason, points::int, rewards from ledger where source_id = $1 order by at', [id])).toEqual([
    { reason: 'score', points: 50, rewards: false },
    { reason: 'void', points: -50, rewards: false },
    { reason: 'restore', points: 50, rewards: false },
    { reason: 'second-void', points: -50, rewards: false },
  ]);
  expect(await sql(t.app, 'select kind, amount::int from activities where source_id = $1 order by batch', [id])).toEqual([
    { kind: 'void', amount: -5_000 },
    { kind: 'restore', amount: 5_000 },
    { kind: 'second-void', amount: -5_000 },
  ]);
});

test('several scores are voided together, without scores of other wallets and scores that are not accepted', async () => {
  const [wallet, other] = [createWallet().address, createWallet().address];
  const ids = [await record(wallet, 3_000), await record(wallet, 4_000), await record(wallet, 100, CAPPED), await record(other, 5_000)];
  await voidIt(ids[0] ?? '');
  expect(await t.app.tx((tx) => voidScores(tx, wallet, [...ids, randomUUID()], DECISION))).toBe(2);
  const states = await sql(t.app, 'select normalized, status from scores where id = any($1::uuid[]) order by normalized', [ids]);
  expect(states).toEqual([
    { normalized: 100, status: 'voided' },
    { normalized: 3_000, status: 'voided' },
    { normalized: 4_000, status: 'voided' },
    { normalized: 5_000, status: 'accepted' },
  ]);
  expect(await t.app.tx((tx) => voidScores(tx, wallet, ids, DECISION))).toBe(0);
});

describe('The points of a restored score', () => {
  /** Records a score, voids it, records other scores and restores it. @returns its points, the reason if it has none, and its ledger rows */
  async function restoreAfter(score: [value: number, gameId: string], others: [value: number, gameId: string][] = []) {
    const wallet = createWallet().address;
    const id = await record(wallet, ...score);
    await voidIt(id);
    for (const other of others) await record(wallet, ...other);
    await restore(id, score[1]);
    const [row] = await sql<{ points: number; reason: string | null }>(t.app, 'select points, no_points_reason as reason from scores where id = $1', [
      id,
    ]);
    const ledger = await sql<{ points: number }>(t.app, `select points::int from ledger where source_id = $1 and reason = 'restore'`, [id]);
    return [row?.points, row?.reason, ledger.map(({ points }) => points)];
  }

  test('are those before the void, even if they are the whole daily cap', async () => {
    expect(await restoreAfter([10_000, RICH])).toEqual([DAILY_POINTS_CAP, null, [DAILY_POINTS_CAP]]);
    expect(await restoreAfter([10_000, CAPPED])).toEqual([100, null, [100]]);
  });

  test('are cut to what the other scores left of the daily cap of the game', async () => {
    const others = [3_000, 2_000].map((value): [number, string] => [value, CAPPED]);
    expect(await restoreAfter([10_000, CAPPED], others)).toEqual([50, null, [50]]);
    expect(await restoreAfter([10_000, CAPPED], [[10_000, CAPPED]])).toEqual([0, 'game-cap', []]);
  });

  test('are cut to what the other scores left of the daily cap over all games', async () => {
    const others = [3_000, 2_500].map((value): [number, string] => [value, RICH]);
    expect(await restoreAfter([10_000, CAPPED], others)).toEqual([40, null, [40]]);
    expect(await restoreAfter([10_000, CAPPED], [[10_000, RICH]])).toEqual([0, 'daily-cap', []]);
  });

  test('stay 0 for the reason that the score had before the void', async () => {
    expect(await restoreAfter([99, CAPPED])).toEqual([0, 'low-score', []]);
  });
});
