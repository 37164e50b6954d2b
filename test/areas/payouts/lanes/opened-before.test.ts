import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { laneAddress, laneOpening } from '#platform/solana/nonce-lanes.ts';
import { NONCE_BYTES } from '#platform/solana/system-program.ts';
import { startWorker } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { createAllPayments, type PayoutsTest, paymentRequest, startPayoutsTest, untilPaid } from '#test/support/areas/payouts.ts';

let t: PayoutsTest;
let worker: Awaited<ReturnType<typeof startWorker>> | undefined;
beforeAll(async () => {
  t = await startPayoutsTest({ workers: false, env: { PAYOUT_LANES: '1' } });
});
afterAll(async () => {
  await worker?.close();
  await t?.close();
});

test('a lane that bin/deploy opened before the first start pays, and the service opens no lane', async () => {
  const { feePayer } = t.chain.keys;
  const payer = await t.chain.fundWallet();
  const rent = await t.chain.connection.getMinimumBalanceForRentExemption(NONCE_BYTES);
  const { instructions } = laneOpening({ payer: payer.publicKey, feePayer: feePayer.publicKey, lane: 0 }, null, rent);
  await t.chain.send(instructions, [payer, feePayer]);
  await t.chain.control.finalized((await t.chain.control.status()).slot + 1);
  worker = await startWorker(t.env, t.clock);
  await untilPaid(t, await createAllPayments(t, [paymentRequest()]), 'completed', 60_000);
  expect(await sql(t.app, 'select address, reason from payout_lanes')).toEqual([
    { address: laneAddress(feePayer.publicKey, 0).toBase58(), reason: null },
  ]);
  const opened = `select n from chain_attempts a join chain_transactions c on c.id = a.transaction_id where c.kind = 'open-payout-lane'`;
  expect(await sql(t.app, opened)).toEqual([]);
}, 90_000);
