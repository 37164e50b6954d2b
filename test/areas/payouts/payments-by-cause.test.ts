import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createPayments, readPaymentsByCause, sumOwedByTreasury } from '#areas/payouts';
import { insertMembers, selectOpened } from '#areas/payouts/planning/rows.ts';
import { checkTransfer, transferMismatch } from '#areas/payouts/transfers.ts';
import { newId } from '#lib/ids.ts';
import type { App } from '#platform/app.ts';
import { newSigner } from '#platform/solana/primitives.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { storeBatch } from '#test/support/areas/payout-rows.ts';
import { createAllPayments, paymentRequest } from '#test/support/areas/payouts.ts';
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

test('a cause has at most one payment, and must have a valid kind and id', async () => {
  const request = paymentRequest();
  const [first] = await createAllPayments(t, [request]);
  expect(await createAllPayments(t, [request])).toEqual([{ id: first?.id, created: false }]);
  await expect(createAllPayments(t, [{ ...request, amount: 1n }])).rejects.toMatchObject({ status: 409 });
  for (const cause of [
    { kind: 'Prize', id: 'one' },
    { kind: 'x'.repeat(33), id: 'one' },
    { kind: 'prize', id: '' },
    { kind: 'prize', id: 'with space' },
    { kind: 'prize', id: 'x'.repeat(129) },
  ])
    await expect(createAllPayments(t, [paymentRequest(), paymentRequest({ cause })])).rejects.toThrow('must have a valid kind and id');
});

test('the treasury owes its payments that are not final, and those that were completed at the given time or later', async () => {
  const rows = [
    ['pending', 1n],
    ['batched', 10n],
    ['confirmed', 100n],
    ['manual', 1_000n],
    ['completed', 10_000n],
    ['completed', 100_000n],
  ] as const;
  const since = '2031-01-01T00:00:00Z';
  const before = await sumOwedByTreasury(t.app.db, 'usdc', since);
  const created = await createAllPayments(
    t,
    rows.map(([, amount]) => paymentRequest({ amount })),
  );
  await createAllPayments(t, [paymentRequest({ currency: 'reward', amount: 7n })]);
  for (const [i, { id }] of created.entries()) {
    const [state] = rows[i] ?? [];
    const completedAt = state !== 'completed' ? null : i === 4 ? '2030-12-31T23:59:59Z' : since;
    await sql(t.app, `update payments set state = $2, completed_at = $3, signature = 'a-signature' where id = $1`, [id, state, completedAt]);
  }
  expect((await sumOwedByTreasury(t.app.db, 'usdc', since)) - before).toBe(101_111n);
  const { config } = t.app;
  const byOrchestrator = { config: { ...config, chain: { ...config.chain, usdcPayer: 'orchestrator' as const } } };
  const [completed] = await t.app.tx((tx) => createPayments(byOrchestrator, tx, [paymentRequest(), paymentRequest()]));
  await sql(t.app, `update payments set state = 'completed', completed_at = $2 where id = $1`, [completed?.id, since]);
  expect((await sumOwedByTreasury(t.app.db, 'usdc', since)) - before).toBe(101_111n);
});

test('a transaction that the RPC node finds only in its history paid a wallet', async () => {
  const [usdcMint, wallet] = [newSigner().publicKey, createWallet().address];
  const balance = (amount: bigint) => [{ mint: usdcMint.toBase58(), owner: wallet, amount }];
  const outcome = { failed: false, tokensBefore: balance(2n), tokensAfter: balance(7n), innerInstructions: [] };
  const node = {
    statuses: async (_signatures: unknown, { searchHistory = false }) => ({
      statuses: [searchHistory ? { confirmationStatus: 'finalized', err: null } : null],
    }),
    transaction: async () => ({ outcome, blockTime: 3 }),
  };
  // `checkTransfer` uses no other part of the application.
  const app = { chain: { usdcMint, node } } as unknown as App;
  expect(await checkTransfer(app, 'a signature', wallet, 'usdc')).toEqual({ verdict: 'paid', amount: 5n, at: 3 });
});

test('a transaction pays no payment that does not exist', async () => {
  const paid = { verdict: 'paid', amount: 5n, at: null } as const;
  expect(await t.app.tx((tx) => transferMismatch(tx, { id: newId(), amount: 5n }, 'a signature', paid))).toBe('the payment does not exist');
});

test('the members of a batch have positions from 0, and an account that a claim opened counts as opened', async () => {
  const created = await createAllPayments(t, [paymentRequest(), paymentRequest(), paymentRequest()]);
  const ids = created.map(({ id }) => id);
  const batch = await storeBatch(t.app, ids.slice(0, 1));
  await sql(t.app, 'delete from payout_batch_members where batch = $1', [batch.id]);
  await t.app.tx((tx) => tx.query(insertMembers, [batch.id, ids.slice(1), [true, false]]));
  expect(await sql(t.app, 'select position, payment, opens from payout_batch_members where batch = $1 order by position', [batch.id])).toEqual([
    { position: 0, payment: ids[1], opens: true },
    { position: 1, payment: ids[2], opens: false },
  ]);
  const [claimed, flying] = [createWallet().address, createWallet().address];
  const open = (wallet: string, cause: string) =>
    sql(t.app, `insert into token_accounts_opened (wallet, mint, cause) values ($1, 'a-mint', $2)`, [wallet, cause]);
  await open(claimed, newId());
  await open(flying, batch.id);
  const opened = await t.app.db.query(selectOpened, [[claimed, flying, createWallet().address], 'a-mint']);
  expect(new Map(opened.map(({ wallet, landed }) => [wallet, landed]))).toEqual(
    new Map([
      [claimed, true],
      [flying, false],
    ]),
  );
});
