import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { banWallet, findGame } from '#areas/arcade';
import { appendScoreActivities } from '#areas/arcade/scores/activities.ts';
import { decideScore } from '#areas/arcade/scores/decide.ts';
import { admitScores, advanceBattles, battleConsumer } from '#areas/battles';
import { newId } from '#lib/ids.ts';
import type { Statement } from '#platform/db/sql.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import * as battles from '#test/support/areas/battles.ts';
import { advanceClock, GAME, OTHER_GAME, STRICT_GAME } from '#test/support/areas/battles.ts';
import { sql } from '#test/support/areas/boards.ts';
import { voidTestScore } from '#test/support/areas/referrals.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  await battles.registerGames(t);
});
afterAll(() => t.close());

const consume = (consumer = battleConsumer) => battles.consumeBattles(t.app, consumer);
const table = (id: string) => battles.readSeats(t.app, id);
const score = (wallet: string, id: string, value: number) => battles.score(t.app, wallet, id, value);
const results = async (id: string) =>
  (await battles.readEvents(t.app, id)).filter(({ type }) => type === 'battle_result').map(({ payload }) => payload);
const stateOf = async (id: string) => (await battles.battle(t.app, id)).status;

const running = (n: number, terms?: Parameters<typeof battles.openBattle>[2]) => battles.startRunningBattle(t.app, n, terms);
async function scoreHeld(wallet: string, id: string, value: number): Promise<string> {
  const outcome = await battles.tryScore(t.app, wallet, id, value);
  if (outcome.status !== 200 || outcome.receipt.status !== 'held') throw new Error(`not held: ${JSON.stringify(outcome)}`);
  return outcome.receipt.scoreId;
}
async function accept(scoreId: string, verdict: 'accept' | 'reject' = 'accept'): Promise<void> {
  const game = await findGame(t.app, STRICT_GAME);
  if (!game) throw new Error('no game');
  await decideScore(t.app, game, scoreId, verdict, { by: 'test', reason: undefined });
}

test('the best score of each wallet counts, across several batches', async () => {
  const [id, a, b] = await running(3);
  for (const value of [300, 700, 500]) await score(a, id, value);
  await consume();
  expect(await table(id)).toEqual([
    [700, 3, null],
    [null, 0, null],
    [null, 0, null],
  ]);
  await score(a, id, 600);
  await score(b, id, 0);
  await consume();
  expect(await table(id)).toEqual([
    [700, 4, null],
    [0, 1, null],
    [null, 0, null],
  ]);
});

test('when its time is over the best score wins, with one battle_result event', async () => {
  const [id, a, b, c] = await running(3, { durationSec: 60 });
  await score(a, id, 300);
  await score(b, id, 400);
  await advanceClock(t, 59);
  await advanceBattles(t.app);
  expect(await stateOf(id)).toBe('running');
  await advanceClock(t, 2);
  await Promise.all(Array.from({ length: 5 }, () => advanceBattles(t.app)));
  await advanceBattles(t.app);
  expect(await battles.battle(t.app, id)).toMatchObject({ status: 'finished', endedAt: expect.any(String) });
  expect(await table(id)).toEqual([
    [300, 1, 2],
    [400, 1, 1],
    [null, 0, null],
  ]);
  expect(await results(id)).toEqual([
    {
      ...{ battleId: id, gameId: GAME, winners: [b] },
      results: [
        { wallet: b, score: 400, place: 1 },
        { wallet: a, score: 300, place: 2 },
        { wallet: c, score: null, place: null },
      ],
    },
  ]);
});

test('equal scores share a place, and the next place is skipped', async () => {
  const wallets = await battles.createPlayers(t.app, 5);
  const id = await battles.openBattle(t.app, wallets);
  const values = [500, 900, 500, 900, 100];
  for (const [i, wallet] of wallets.entries()) await score(wallet, id, values[i] ?? 0);
  await advanceClock(t, 301);
  await advanceBattles(t.app);
  expect((await table(id)).map(([, , place]) => place)).toEqual([3, 1, 3, 1, 5]);
  const order = [1, 3, 0, 2, 4].map((i) => ({ wallet: wallets[i] ?? '', score: values[i] ?? 0 }));
  const sorted = order.sort((x, y) => y.score - x.score || (x.wallet < y.wallet ? 1 : -1)).map(({ wallet }) => wallet);
  expect(await results(id)).toMatchObject([{ winners: sorted.slice(0, 2), results: sorted.map((wallet) => ({ wallet })) }]);
});

test('a battle without scores has no winners', async () => {
  const [id] = await running(2);
  await advanceClock(t, 301);
  await advanceBattles(t.app);
  expect(await stateOf(id)).toBe('finished');
  expect(await results(id)).toMatchObject([{ winners: [], results: [{ place: null }, { place: null }] }]);
});

test('a battle ends at once when every participant has a score that counts, and scores until then count', async () => {
  const [id, a, b] = await running(2, { durationSec: 86_400 });
  await score(a, id, 100);
  await consume();
  await advanceBattles(t.app);
  expect(await stateOf(id)).toBe('running');
  await score(b, id, 0);
  await score(a, id, 200);
  await consume();
  await advanceClock(t, 1);
  expect(await battles.submit(t.app, [battles.submission(t.app, { wallet: b, battleId: id, score: 900 })])).toMatchObject({ status: 409 });
  await advanceBattles(t.app);
  const { endsAt, now } = { endsAt: Date.parse((await battles.battle(t.app, id)).dueAt), now: t.clock.now().getTime() };
  expect(now - endsAt).toBeLessThan(60_000);
  expect(await table(id)).toEqual([
    [200, 2, 1],
    [0, 1, 2],
  ]);
});

test('a score that is recorded after the end does not count, even if it was admitted before the end', async () => {
  const [id, a] = await running(2);
  await score(a, id, 100);
  const late = await battles.submit(t.app, [battles.submission(t.app, { wallet: a, battleId: id, score: 900 })], async (app, submissions) => {
    const admitted = await admitScores(app, submissions);
    await advanceClock(t, 301);
    return admitted;
  });
  expect(late.status).toBe(200);
  await consume();
  expect((await table(id))[0]).toEqual([100, 1, null]);
  await advanceBattles(t.app);
  expect((await table(id))[0]).toEqual([100, 1, 1]);
});

test('a score of a transaction that began before the end counts, even if it commits later', async () => {
  const [id, a, b] = await running(2);
  await score(a, id, 100);
  const scoreId = newId();
  const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const recording = t.app.tx(async (tx) => {
    const insert: Statement<unknown> = {
      text: `insert into scores (id, wallet, game_id, game_version, body_hash, score, normalized, points, personal_best, status, mode, battle_id, day, at)
             values ($1, $2, $3, 1, '', 900, 900, 0, false, 'accepted', 'regular', $4, app_day(), app_now())`,
    };
    await tx.query(insert, [scoreId, b, GAME, id]);
    await appendScoreActivities(tx, 'score', [{ id: scoreId, wallet: b, gameId: GAME, normalized: 900, battleId: id }]);
    begun.resolve();
    await gate.promise;
  });
  await begun.promise;
  await advanceClock(t, 301);
  await advanceBattles(t.app);
  expect(await stateOf(id)).toBe('running');
  gate.resolve();
  await recording;
  await advanceBattles(t.app);
  expect(await table(id)).toEqual([
    [100, 1, 2],
    [900, 1, 1],
  ]);
});

test('the result does not wait for consumers, and later consumption does not change it', async () => {
  const [id, a, b] = await running(2);
  await score(a, id, 100);
  await score(b, id, 200);
  await advanceClock(t, 301);
  await advanceBattles(t.app);
  const end = [
    [100, 1, 2],
    [200, 1, 1],
  ];
  expect(await table(id)).toEqual(end);
  await consume();
  expect(await table(id)).toEqual(end);
});

test('a score that is voided before the result does not count, and a later void does not change the result', async () => {
  const [id, a, b] = await running(2);
  const bad = await score(a, id, 900);
  await score(a, id, 300);
  await consume();
  await voidTestScore(t.app, bad);
  expect((await table(id))[0]).toEqual([900, 2, null]);
  await consume();
  expect((await table(id))[0]).toEqual([300, 1, null]);
  // Voids a score before it is consumed, and then the only score of a wallet.
  await voidTestScore(t.app, await score(a, id, 800));
  await consume();
  const only = await score(b, id, 400);
  await voidTestScore(t.app, only);
  await consume();
  expect(await table(id)).toEqual([
    [300, 1, null],
    [null, 0, null],
  ]);
  // Voids a score after the end, before the result and before it is consumed.
  const [winner] = [await score(a, id, 700)];
  await advanceClock(t, 301);
  await voidTestScore(t.app, winner);
  await advanceBattles(t.app);
  expect((await table(id))[0]).toEqual([300, 1, 1]);
  await voidTestScore(
    t.app,
    (await sql<{ id: string }>(t.app, `select id from scores where battle_id = $1 and normalized = 300`, [id]))[0]?.id ?? '',
  );
  await consume();
  expect((await table(id))[0]).toEqual([300, 1, 1]);
});

test('a held score counts if it is accepted before the end', async () => {
  const [id, a, b, c] = await running(3, { gameId: STRICT_GAME });
  const [early, late, never] = [await scoreHeld(a, id, 5_000), await scoreHeld(b, id, 6_000), await scoreHeld(c, id, 7_000)];
  await consume();
  expect((await table(id)).map(([best]) => best)).toEqual([null, null, null]);
  await accept(early);
  await accept(never, 'reject');
  await consume();
  expect((await table(id)).map(([best]) => best)).toEqual([5_000, null, null]);
  await advanceClock(t, 301);
  await accept(late);
  await consume();
  await advanceBattles(t.app);
  expect(await table(id)).toEqual([
    [5_000, 1, 1],
    [null, 0, null],
    [null, 0, null],
  ]);
});

test('a score is refused if its battle is unknown, of another game, not joined or not running, and then it stores no row and uses no play', async () => {
  const [id, a, b] = await running(2, { gameId: STRICT_GAME });
  const [stranger = ''] = await battles.createPlayers(t.app, 1);
  const open = await battles.openBattle(t.app, [stranger], { gameId: STRICT_GAME });
  const plays = new Map<string, string>();
  for (const wallet of [a, stranger]) {
    plays.set(wallet, await battles.insertPlay(t.app, wallet, 60));
  }
  const submit = (wallet: string, battleId: string, more: object = {}) =>
    battles.submit(t.app, [
      battles.submission(t.app, { ...{ wallet, battleId, score: 500, gameId: STRICT_GAME, playId: plays.get(wallet) ?? null }, ...more }),
    ]);
  const error = (status: number, must: string) => ({ status, error: `battleId must be a battle ${must}` });
  expect(await submit(a, randomUUID())).toEqual(error(404, 'that exists'));
  expect(await submit(a, id, { gameId: OTHER_GAME, playId: null })).toEqual(error(400, 'of this game'));
  expect(await submit(stranger, id)).toEqual(error(403, 'that you have joined'));
  expect(await submit(stranger, open)).toEqual(error(409, 'that is running'));
  expect(await sql(t.app, 'select 1 from scores where wallet = any($1)', [[a, stranger]])).toEqual([]);
  const body = { idempotencyKey: randomUUID() };
  const first = await submit(a, id, body);
  expect(first).toMatchObject({ status: 200, receipt: { status: 'accepted' } });
  await advanceClock(t, 301);
  expect(await submit(b, id, { playId: null })).toEqual(error(409, 'that is running'));
  await advanceBattles(t.app);
  // A repeated request gets its receipt although the battle is over.
  expect(await submit(a, id, body)).toEqual(first);
  expect(await submit(a, id)).toEqual(first);
});

test('a batch can mix scores with and without battles, and each is checked separately', async () => {
  const [id, a, b] = await running(2);
  const of = (wallet: string, battleId: string | null) => battles.submission(t.app, { wallet, battleId, score: 10 });
  const submissions = [of(a, id), of(a, null), of(b, randomUUID()), of(b, id.toUpperCase())];
  const first = await battles.submit(t.app, submissions);
  expect(first.status).toBe(200);
  const rows = await sql<{ id: string; battle_id: string | null }>(t.app, `select id, battle_id from scores where id = any($1)`, [
    submissions.map((s) => s.id),
  ]);
  expect(submissions.map((s) => rows.find((row) => row.id === s.id)?.battle_id)).toEqual([id, null, undefined, id]);
  await consume();
  expect((await table(id)).map(([best]) => best)).toEqual([10, 10]);
});

test('the scores of a banned wallet do not count in its battles', async () => {
  const [id, a, b] = await running(3);
  await score(a, id, 900);
  await score(a, id, 800);
  await score(b, id, 100);
  await consume();
  await banWallet(t.app, a, 'a test');
  expect(await battles.submit(t.app, [battles.submission(t.app, { wallet: a, battleId: id, score: 1 })])).toMatchObject({ status: 403 });
  await advanceClock(t, 301);
  await advanceBattles(t.app);
  expect(await table(id)).toEqual([
    [null, 0, null],
    [100, 1, 1],
    [null, 0, null],
  ]);
});
