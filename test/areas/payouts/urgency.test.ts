import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createPayments } from '#areas/payouts';
import { sql } from '#test/support/areas/boards.ts';
import { type PayoutsTest, paymentRequest, startPayoutsTest, untilPaid } from '#test/support/areas/payouts.ts';

let t: PayoutsTest;
beforeAll(async () => {
  t = await startPayoutsTest({ env: { PAYOUT_LANES: '1' } });
});
afterAll(() => t.close());

test('a batch is as urgent as its payment whose earlier batches expired most often', async () => {
  const owed = await t.app.tx(async (tx) => {
    const created = await createPayments(
      t.app,
      tx,
      [0, 1, 2].map(() => paymentRequest()),
    );
    await tx.query({ text: 'update payments set give_ups = 2 where id = $1' }, [created[1]?.id]);
    return created;
  });
  await untilPaid(t, owed);
  const batches = await sql(
    t.app,
    'select urgency::int, (select count(*)::int from payout_batch_members m where m.batch = b.id) as size from payout_batches b',
  );
  expect(batches).toEqual([{ urgency: 2, size: 3 }]);
});
