import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { recheckQuests, requestQuestChecks } from '#areas/points';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { holdTransaction, untilBlocked } from '#test/support/locks.ts';
import { createWallet } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t.close());

const NOON = Date.UTC(2034, 5, 15, 12);
const DAY = NOON / 86_400_000 - 0.5;

test('the quest checks of a wallet, quest and day are one row, from the first to the last time of all requests', async () => {
  const wallet = createWallet().address;
  const request = (times: readonly number[], questId = 'q') =>
    t.app.tx((tx) =>
      requestQuestChecks(
        tx,
        times.map((at) => ({ wallet, questId, day: DAY, at: NOON + at })),
      ),
    );
  const rows = () =>
    sql(
      t.app,
      `select quest_id as quest, day, (extract(epoch from first_at) * 1000 - $2)::int as first, (extract(epoch from last_at) * 1000 - $2)::int as last
       from quest_checks where wallet = $1 order by quest_id`,
      [wallet, NOON],
    );
  await request([2_000, 1_000, 3_000]);
  await request([5_000], 'other');
  expect(await rows()).toEqual([
    { quest: 'other', day: DAY, first: 5_000, last: 5_000 },
    { quest: 'q', day: DAY, first: 1_000, last: 3_000 },
  ]);
  await request([1_500, 2_500]);
  expect((await rows())[1]).toMatchObject({ first: 1_000, last: 3_000 });
  await request([500, 4_000]);
  expect((await rows())[1]).toMatchObject({ first: 500, last: 4_000 });
});

test('quest checks are locked by wallet, then by quest, so that two transactions with the same checks do not deadlock', async () => {
  const [low = '', high = ''] = [createWallet().address, createWallet().address].sort();
  const first = { wallet: low, questId: 'a', day: DAY + 1, at: NOON };
  const second = { wallet: low, questId: 'b', day: DAY, at: NOON };
  for (const checks of [[first], [second]]) await t.app.tx((tx) => requestQuestChecks(tx, checks));
  const commit = await holdTransaction(t.app, (tx) => requestQuestChecks(tx, [first]));
  const waiting = t.app.tx((tx) => requestQuestChecks(tx, [second, first]));
  await untilBlocked(t.app, waiting);
  expect(await sql(t.app, `select quest_id from quest_checks where wallet = $1 for update skip locked`, [low])).toEqual([{ quest_id: 'b' }]);
  await commit();
  await waiting;
  await t.app.tx((tx) => recheckQuests(tx, [high]));
  const commitLow = await holdTransaction(t.app, (tx) => recheckQuests(tx, [low]));
  const waitingForLow = t.app.tx((tx) => recheckQuests(tx, [high, low]));
  await untilBlocked(t.app, waitingForLow);
  expect(await sql(t.app, `select wallet from quest_checks where wallet = $1 for update skip locked`, [high])).toEqual([{ wallet: high }]);
  await commitLow();
  await waitingForLow;
});
