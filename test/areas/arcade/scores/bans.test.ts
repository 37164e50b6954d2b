import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { banWallet, finishBan, processScores, unbanWallet } from '#areas/arcade';
import { ensurePlayer } from '#areas/points';
import { newId } from '#lib/ids.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { LENIENT, registerGame, TEST_GAME } from '#test/support/areas/arcade.ts';
import { sql } from '#test/support/areas/boards.ts';
import { ignoredFailures } from '#test/support/failing-statements.ts';
import { createWallet } from '#test/support/wallet.ts';

/** Holds each score from 5,000 on. */
const GAME = 'banned-game';
/** December 2024. */
const DETACHED = 2_024 * 12 + 11;

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  await registerGame(t.url, ADMIN_TOKEN, GAME, { ...TEST_GAME, verification: 'none', review: { ...LENIENT.review, perfectFrom: 5_000 } });
  await sql(
    t.app,
    `insert into closed_partitions (relation, month, columns, blocks, closed_at, exported_at, detached_at)
     select relation, month, '{}', 0, app_now(), app_now(), case when month = $1 then app_now() end
     from unnest(array['scores', 'activities']) relation, generate_series($1::int, $1 + 1) month`,
    [DETACHED],
  );
});
afterAll(() => t.close());

/** Creates a wallet and records its scores. */
async function playerWith(...scores: number[]): Promise<string> {
  const wallet = createWallet().address;
  await t.app.tx((tx) => ensurePlayer(tx, wallet));
  const submissions = scores.map((score) => ({
    ...{ id: newId(), wallet, gameId: GAME, score, playId: null, durationMs: null, battleId: null, signature: null, replay: null },
    ...{ idempotencyKey: null, bodyHash: '0'.repeat(64), at: t.clock.now().toISOString() },
  }));
  const outcomes = await processScores(t.app, submissions);
  expect(outcomes.map(({ outcome }) => outcome.status)).toEqual(scores.map(() => 200));
  return wallet;
}

/** Stores the sums of a closed month of scores. */
const carry = (wallet: string, scores: number, { month = DETACHED, mode = 'regular' } = {}) =>
  sql(
    t.app,
    `insert into carried_games (wallet, month, mode, game_id, paid_month, plays, scores, points, normalized)
     values ($1, $2, $3, $4, $2, $5::int, $5::int, 0, 100 * $5::int)`,
    [wallet, month, mode, GAME, scores],
  );
async function countersOf(gameId: string) {
  const select = 'select sum(scores)::int as scores, sum(score_sum)::int as sum from game_counters where game_id = $1';
  const [row] = await sql<{ scores: number; sum: number }>(t.app, select, [gameId]);
  return [row?.scores ?? 0, row?.sum ?? 0];
}
const activitiesOf = (wallet: string) =>
  sql(t.app, `select kind, amount::int, game_id from activities where wallet = $1 and kind in ('ban', 'unban') order by batch`, [wallet]);
const boardChangesOf = async (wallet: string) =>
  (
    await sql<{ item: unknown }>(
      t.app,
      `select item from outbox, jsonb_array_elements(payload::jsonb -> 'changes') item where type = 'score_update' and item->>'wallet' = $1 order by outbox.id`,
      [wallet],
    )
  ).map(({ item }) => item);

test('the stats of a game lose the accepted scores of a banned wallet, with those of detached months, until the ban ends', async () => {
  const [wallet, other] = [await playerWith(1_000, 2_000, 6_000), await playerWith(500)];
  await carry(wallet, 3);
  await carry(wallet, 5, { mode: 'beta' });
  // The scores of a month that is closed but not detached are still in the table.
  await carry(wallet, 7, { month: DETACHED + 1 });
  await carry(other, 11);
  const [scores = 0, sum = 0] = await countersOf(GAME);
  await banWallet(t.app, wallet, 'bot');
  expect(await countersOf(GAME)).toEqual([scores - 2 - 3, sum - 3_000 - 300]);
  await unbanWallet(t.app, wallet);
  expect(await countersOf(GAME)).toEqual([scores, sum]);
});

test('a ban removes the lines of the wallet from the boards of games for everybody, and its end shows them again', async () => {
  const wallet = await playerWith(1_000, 3_000);
  const line = (score: number | null) => ({ wallet, gameId: GAME, score });
  const before = await boardChangesOf(wallet);
  await banWallet(t.app, wallet, 'bot');
  await banWallet(t.app, wallet, 'bot');
  await unbanWallet(t.app, wallet);
  expect(await boardChangesOf(wallet)).toEqual([...before, line(null), line(3_000)]);
  expect(await activitiesOf(wallet)).toEqual([
    { kind: 'ban', amount: 0, game_id: null },
    { kind: 'unban', amount: 0, game_id: null },
  ]);
  const withoutBest = await playerWith(0);
  await banWallet(t.app, withoutBest, 'bot');
  expect(await boardChangesOf(withoutBest)).toEqual([]);
});

test('the end of a ban asks for an evaluation of the quests of the wallet', async () => {
  const wallet = await playerWith();
  const checks = () => sql(t.app, 'select quest_id from quest_checks where wallet = $1', [wallet]);
  await banWallet(t.app, wallet, 'bot');
  expect(await checks()).toEqual([]);
  await unbanWallet(t.app, wallet);
  expect(await checks()).toEqual([{ quest_id: '' }]);
});

test('a ban is finished when no score of the wallet is held any more, and not if one of its statements fails', async () => {
  const wallet = await playerWith(6_000, 7_000, 1_000);
  await banWallet(t.app, wallet, 'bot');
  expect(await ignoredFailures(t.app, (app) => finishBan(app, wallet))).toEqual([]);
  expect(await sql(t.app, 'select normalized, status from scores where wallet = $1 order by normalized', [wallet])).toEqual([
    { normalized: 1_000, status: 'accepted' },
    { normalized: 6_000, status: 'rejected' },
    { normalized: 7_000, status: 'rejected' },
  ]);
});

test('a ban of an earlier release is announced once, unless the month of its announcement may be detached', async () => {
  const banAt = async (time: string) => {
    const wallet = await playerWith(4_000);
    const before = await boardChangesOf(wallet);
    await sql(t.app, `update players set banned_at = $2, ban_reason = 'bot' where wallet = $1`, [wallet, time]);
    for (let i = 0; i < 2; i++) await finishBan(t.app, wallet);
    return [(await activitiesOf(wallet)).length, (await boardChangesOf(wallet)).slice(before.length)];
  };
  expect(await banAt('2024-12-20T00:00:00Z')).toEqual([0, []]);
  expect(await banAt('2025-01-01T23:59:59Z')).toEqual([0, []]);
  expect(await banAt('2025-01-02T00:00:01Z')).toEqual([1, [{ wallet: expect.any(String), gameId: GAME, score: null }]]);
});
