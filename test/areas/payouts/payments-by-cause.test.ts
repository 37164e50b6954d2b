import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createPayments, readPaymentsByCause } from '#areas/payouts';
import { newId } from '#lib/ids.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { createWallet } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t.close());

test('the payments for causes are those of the given kind and ids, by id of the cause', async () => {
  const [id, other, missing] = [newId(), newId(), newId()];
  const causes = [
    { kind: 'prize', id },
    { kind: 'prize', id: other },
    { kind: 'refund', id },
  ];
  const requests = causes.map((cause, i) => ({ wallet: createWallet().address, currency: 'usdc' as const, amount: BigInt(10 + i), cause }));
  await t.app.tx((tx) => createPayments(t.app, tx, requests));
  const amounts = async (kind: string, ids: readonly string[]) =>
    [...(await readPaymentsByCause(t.app.db, kind, ids))].map(([cause, { amount }]) => [cause, String(amount)]).sort();
  expect(await amounts('prize', [id, missing])).toEqual([[id, '10']]);
  expect(await amounts('prize', [id, other])).toEqual(
    [
      [id, '10'],
      [other, '11'],
    ].sort(),
  );
  expect(await amounts('refund', [id, other])).toEqual([[id, '12']]);
  expect(await amounts('prize', [])).toEqual([]);
});
