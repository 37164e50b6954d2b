import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { type Spend, TOKEN_ACCOUNTS } from '#platform/solana/submission/index.ts';
import { DailyLimitReached, outflowLeft, pendingSpends, releaseOutflows, reserveOutflows, sumByAsset } from '#platform/solana/submission/outflows.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { randomAddress } from '#test/support/areas/payout-rows.ts';
import { newPayment, submitPayments, transferType } from '#test/support/solana/submission.ts';

const [REWARD, USDC] = [randomAddress(), randomAddress()];
const LIMITS: Readonly<Record<string, bigint>> = { sol: 1_000n, [TOKEN_ACCOUNTS]: 300n, [REWARD]: 2_000n, [USDC]: 500n };
const spend = (asset: string, amount: bigint): Spend => ({ asset, amount });

let t: TestApp;
beforeAll(async () => {
  const mints = { REWARD_MINT: REWARD, USDC_MINT: USDC };
  const limits = {
    DAILY_SOL_LIMIT: '1000',
    DAILY_REWARD_LIMIT: '2000',
    DAILY_USDC_LIMIT: '500',
    TOKEN_ACCOUNT_DAILY_BUDGET: '300',
    DAILY_LIMIT_RESERVES: '',
  };
  t = await startTestApp({ workers: false, env: { ...mints, ...limits } });
});
let days = 0;
const nextDay = () => t.clock.set(new Date(Date.parse('2031-05-01T12:00:00Z') + days++ * 86_400_000));
// Each test has a day of its own.
beforeEach(nextDay);
afterAll(() => t.close());

const reserve = (...spends: Spend[]) => t.app.tx((tx) => reserveOutflows(t.app, tx, 'payouts', spends));
const left = async () => await Promise.all(Object.keys(LIMITS).map((asset) => outflowLeft(t.app, asset, 'payouts')));

test('each asset can be spent exactly up to its own daily limit', async () => {
  expect(await left()).toEqual(Object.values(LIMITS));
  for (const [asset, limit] of Object.entries(LIMITS)) {
    await reserve(spend(asset, limit - 1n));
    await expect(reserve(spend(asset, 2n))).rejects.toMatchObject({ name: 'DailyLimitReached', asset });
    await reserve(spend(asset, 1n));
    await expect(reserve(spend(asset, 1n))).rejects.toThrow(DailyLimitReached);
  }
  expect(await left()).toEqual([0n, 0n, 0n, 0n]);
});

test('one amount above the limit is refused, and an asset without a limit cannot be spent', async () => {
  await expect(reserve(spend('sol', 1_001n))).rejects.toMatchObject({ asset: 'sol' });
  const unknown = randomAddress();
  await expect(reserve(spend(unknown, 1n))).rejects.toMatchObject({ asset: unknown });
  expect(await outflowLeft(t.app, unknown, 'payouts')).toBe(0n);
  expect(await left()).toEqual(Object.values(LIMITS));
});

test('if one of several spends exceeds its limit, none is reserved', async () => {
  await expect(reserve(spend(REWARD, 10n), spend('sol', 10n), spend(USDC, 501n))).rejects.toMatchObject({ asset: USDC });
  expect(await left()).toEqual(Object.values(LIMITS));
  // Several spends of one asset count together.
  await expect(reserve(spend('sol', 600n), spend('sol', 401n))).rejects.toMatchObject({ asset: 'sol' });
  await reserve(spend('sol', 600n), spend('sol', 400n), spend(REWARD, 0n));
  expect(await left()).toEqual([0n, 300n, 2_000n, 500n]);
});

test('a released amount can be spent again on its own day only, and never more than was reserved', async () => {
  const yesterday = await reserve(spend('sol', 900n));
  await nextDay();
  const today = await reserve(spend('sol', 700n), spend(USDC, 100n));
  expect(today).toBeGreaterThan(yesterday);
  await t.app.tx((tx) => releaseOutflows(tx, yesterday, 'payouts', [spend('sol', 900n)]));
  expect((await left())[0]).toBe(300n);
  await t.app.tx((tx) => releaseOutflows(tx, today, 'payouts', [spend('sol', 200n), spend('sol', 100n)]));
  expect(await left()).toEqual([600n, 300n, 2_000n, 400n]);
  await t.app.tx((tx) => releaseOutflows(tx, today, 'payouts', [spend('sol', 5_000n)]));
  expect((await left())[0]).toBe(1_000n);
});

test('concurrent reservations do not exceed the limit and do not deadlock, in either order of their assets', async () => {
  const outcomes = await Promise.allSettled(
    Array.from({ length: 40 }, (_, i) => (i % 2 === 0 ? [REWARD, 'sol'] : ['sol', REWARD])).map((assets) =>
      reserve(...assets.map((asset) => spend(asset, 90n))),
    ),
  );
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(11);
  for (const outcome of outcomes)
    if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ name: 'DailyLimitReached', asset: 'sol' });
  expect(await left()).toEqual([10n, 300n, 2_000n - 11n * 90n, 500n]);
});

test('spends are added up per asset, in the order of asset names, without the spends of 0', () => {
  expect(sumByAsset([spend('b', 1n), spend('a', 2n), spend('b', 3n), spend('c', 0n)])).toEqual([spend('a', 2n), spend('b', 4n)]);
});

test('the pending spends of an asset are those of attempts that may still land or have landed, except those of one type', async () => {
  const [plain, other] = [transferType('spending'), transferType('excepted')];
  const store = async (type: typeof plain, state: string, signature: string, spends: Spend[]) => {
    const subject = newPayment();
    await submitPayments(t.app, type, [subject]);
    await sql(
      t.app,
      `insert into chain_attempts (transaction_id, n, state, signature, bytes, signers, last_valid_height, signed_slot, spends, spend_day, preamble)
       select id, 1, $2, $3, '', '{}', 1, 1, $4::jsonb, 0, 0 from chain_transactions where subject = $1`,
      [subject, state, signature, JSON.stringify(spends.map(({ asset, amount }) => ({ asset, amount: String(amount) })))],
    );
  };
  for (const state of ['signed', 'sent', 'confirmed', 'finalized', 'failed', 'dead'])
    await store(plain, state, state, [spend('sol', 5n), spend(USDC, 18_000_000_000_000_000_000n)]);
  await store(other, 'sent', 'excepted', [spend(USDC, 1n)]);
  const found = (await pendingSpends(t.app.db, USDC, other)).sort((a, b) => (a.signature < b.signature ? -1 : 1));
  const expected = ['confirmed', 'sent', 'signed'].map((signature) => ({ signature, type: plain.name, amount: 18_000_000_000_000_000_000n }));
  expect(found).toMatchObject(expected);
  expect(await pendingSpends(t.app.db, USDC, plain)).toMatchObject([{ signature: 'excepted', type: other.name, amount: 1n }]);
});
