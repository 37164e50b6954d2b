import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { payoutsStatus } from '#areas/payouts/reconciliation/status.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { storeLane } from '#test/support/areas/payout-rows.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t.close());

test('the status of payouts shows the difference between the database and the chain that pauses them', async () => {
  await sql(t.app, `update payout_watch set doubt = 'a difference'`);
  expect((await payoutsStatus(t.app)).doubt).toBe('a difference');
  await sql(t.app, 'update payout_watch set doubt = null');
  expect((await payoutsStatus(t.app)).doubt).toBeNull();
});

test('the status of payouts shows for each lane the progress of reading the history of the lane’s present account', async () => {
  const [read, unread, replaced] = [await storeLane(t.app), await storeLane(t.app), await storeLane(t.app)];
  const storeScan = (lane: number, address: string, listed: number) =>
    sql(
      t.app,
      `insert into payout_lane_scans (lane, address, floor, listed, read, complete, changed_at) values ($1, $2, 0, $3, 2, false, app_now())`,
      [lane, address, listed],
    );
  await storeScan(read.lane, read.address, 3);
  await storeScan(replaced.lane, unread.address, 4);
  const { lanes } = await payoutsStatus(t.app);
  expect(lanes.map(({ lane, address, history }) => ({ lane, address, history }))).toEqual([
    { lane: read.lane, address: read.address, history: { listed: 3, read: 2, complete: false } },
    { lane: unread.lane, address: unread.address, history: null },
    { lane: replaced.lane, address: replaced.address, history: null },
  ]);
});
