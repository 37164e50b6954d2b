import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { appendActivities, type Consumer, closeEndedPeriods, consumeActivities } from '#areas/points';
import { storeFinals } from '#areas/points/finals.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { givePoints, sql } from '#test/support/areas/boards.ts';
import { meanwhile } from '#test/support/meanwhile.ts';
import { createWallet } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t.close());

test('while a process consumes activities, another process consumes none of them', async () => {
  const { address: wallet } = createWallet();
  await t.app.tx((tx) => appendActivities(tx, [{ kind: 'play', sourceId: 'one', wallet, gameId: null, amount: 0 }]));
  let consumed = 0;
  const consumerOf = (name: Consumer['name'], bit: Consumer['bit']): Consumer => ({
    name,
    bit,
    async consume(_app, _tx, _open, activities) {
      consumed += activities.length;
      return [];
    },
  });
  const consumers = [consumerOf('referrals', 1), consumerOf('quests', 2), consumerOf('battles', 4)];
  await consumeActivities(
    meanwhile(t.app, 'select_open_activities', () => consumeActivities(t.app, consumers)),
    consumers,
  );
  expect(consumed).toBe(consumers.length);
});

test('while a process stores the final ranks of a period, another process does not store them', async () => {
  const day = await givePoints(t.app, { wallet: createWallet().address, points: 5 });
  await t.clock.set(new Date((day + 1) * 86_400_000 + 3_600_000));
  await sql(t.app, `insert into closed_periods (period, bucket) values ('day', $1)`, [day]);
  let other: boolean | undefined;
  const first = await storeFinals(
    meanwhile(t.app, 'lock_closed_period', async () => {
      other = await storeFinals(t.app, 'day', day);
    }),
    'day',
    day,
  );
  expect([first, other]).toEqual([true, false]);
  await closeEndedPeriods(t.app);
  expect(await sql(t.app, `select count(*)::int as n from finals where period = 'day' and bucket = $1 and board = 'global'`, [day])).toEqual([
    { n: 1 },
  ]);
});
