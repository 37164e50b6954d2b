import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { payoutBatch } from '#areas/payouts/batches/transaction-type.ts';
import { outflowLeft } from '#platform/solana/submission/index.ts';
import { sql } from '#test/support/areas/boards.ts';
import { nonceAccount, randomAddress, type StoredBatch, storeBatch } from '#test/support/areas/payout-rows.ts';
import { createAllPayments, mintOf, type PayoutsTest, paymentRequest, startPayoutsTest } from '#test/support/areas/payouts.ts';

let t: PayoutsTest;
/** The nonce that the RPC node shows. */
let nonce: string;
beforeAll(async () => {
  t = await startPayoutsTest({ workers: false });
  t.app.chain.node.account = async () => ({ slot: 1, account: nonceAccount(nonce) });
});
afterAll(() => t?.close());

const mint = () => mintOf(t, 'usdc').toBase58();
const address = (role: 'feePayer' | 'treasury') => t.app.chain.key(role).publicKey.toBase58();

/** Stores a batch of payments whose nonce the RPC node shows. */
async function storePaid(amounts: readonly bigint[], keys = {}): Promise<StoredBatch & { payments: string[] }> {
  const created = await createAllPayments(
    t,
    amounts.map((amount) => paymentRequest({ amount })),
  );
  const payments = created.map(({ id }) => id);
  const all = { feePayer: address('feePayer'), treasury: address('treasury'), mint: mint(), ...keys };
  const batch = await storeBatch(t.app, payments, undefined, all);
  nonce = batch.nonce;
  return { ...batch, payments };
}
const compose = ({ id }: { id: string }) => payoutBatch.compose(t.app, id, null);
const failure = (name: string) => ({ do: 'fail', error: { name } });

test('a batch that spends exactly the rest of the daily limit is signed, and fails with one base unit more', async () => {
  const left = await outflowLeft(t.app, mint(), 'payouts');
  const composed = await compose(await storePaid([left - 40n, 40n]));
  expect(composed).toMatchObject({ do: 'sign', signers: ['treasury'], nonce: { value: nonce } });
  expect(composed).toHaveProperty('spends', expect.arrayContaining([{ asset: mint(), amount: left }]));
  expect(await compose(await storePaid([left - 40n, 41n]))).toMatchObject(failure('OverLimit'));
});

test('a batch fails when a payment is no longer part of it, its keys were rotated, or another transaction used its nonce', async () => {
  const left = await storePaid([1n, 2n]);
  await sql(t.app, `update payments set state = 'pending' where id = $1`, [left.payments[1]]);
  expect(await compose(left)).toMatchObject(failure('Changed'));
  expect(await compose(await storePaid([1n], { treasury: randomAddress() }))).toMatchObject(failure('Rotated'));
  const used = await storePaid([1n]);
  nonce = randomAddress();
  expect(await compose(used)).toMatchObject(failure('NonceUsed'));
});

test.each([
  ['the batch was closed', `update payout_batches set state = 'over', closed_at = app_now() where id = $1`],
  ['a payment was taken out of the batch', `update payout_batch_members set live = false where batch = $1 and position = 1`],
  [
    'a payment is pending',
    `update payments set state = 'pending' where id = (select payment from payout_batch_members where batch = $1 and position = 1)`,
  ],
])('the attempt of a batch is not stored when %s since the transaction was composed', async (_what, change) => {
  const batch = await storePaid([1n, 2n]);
  const draft = await compose(batch);
  if (draft.do !== 'sign') throw new Error('the batch was not composed');
  const store = () => t.app.tx(async (tx) => await payoutBatch.signed?.(tx, [{ subject: batch.id, signature: 'a', draft, isFurther: false }]));
  await store();
  await sql(t.app, change, [batch.id]);
  await expect(store()).rejects.toThrow('was closed, or a member is no longer in the state batched');
});
