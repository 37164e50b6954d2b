import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { statement } from '#platform/db/sql.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { asOwner } from '#test/support/database.ts';
import { jsonOf } from '#test/support/http/json.ts';
import {
  claimBody,
  newClaimant,
  newEpoch,
  openEpoch,
  openTokenAccount,
  type RewardsTest,
  rewardOf,
  startRewardsTest,
  storedClaims,
  type TestEpoch,
  tokenAccountOf,
} from '#test/support/solana/claims.ts';
import type { SignedIn } from '#test/support/wallet.ts';

let t: RewardsTest;
beforeAll(async () => {
  t = await startRewardsTest();
});
afterEach(() => t.chain.control.clear());
afterAll(() => t.close());

const requestClaim = (by: SignedIn, epoch: TestEpoch, wait = 0) =>
  by.fetch('/api/rewards/claim', { json: claimBody(epoch, by.wallet), headers: { Prefer: `wait=${wait}` } });
const selectTransaction = statement<{ refusals: number; state: string; delay: number; sol: string }>(
  'test_transaction_of_claim',
  `select t.refusals, t.state, extract(epoch from t.next_at - app_now())::float8 as delay,
     (select coalesce(sum(reserved), 0)::text from chain_outflows where asset = 'sol' and priority = 'claims') as sol
   from chain_transactions t join claims c on c.id::text = t.subject where t.kind = 'claim' and c.epoch = $1`,
);
const transactionOf = async (epoch: number) => (await t.app.db.query(selectTransaction, [epoch]))[0];

/** Lets the next attempt of a claim fail: its owner closes the token account before the transaction lands, and reopens it later. */
async function failOnce(player: SignedIn, { epoch }: TestEpoch, refusals: number): Promise<void> {
  const late = await t.chain.control.fault({ kind: 'late', slots: 60, methods: ['sendTransaction'] });
  await retryUntilPass(async () => expect(await transactionOf(epoch)).toMatchObject({ state: 'live', refusals: refusals - 1 }), 10_000);
  await t.chain.control.setAccounts([{ address: tokenAccountOf(t, player.wallet).toBase58() }]);
  await retryUntilPass(async () => expect(await transactionOf(epoch)).toMatchObject({ refusals }));
  await late.clear();
  await openTokenAccount(t, player.wallet);
}

/** Moves the clock beyond the delay of a claim's next attempt. */
async function skipDelay(epoch: number): Promise<void> {
  const delay = (await transactionOf(epoch))?.delay ?? 0;
  if (delay > 0) await t.clock.set(new Date(t.clock.now().getTime() + Math.ceil(delay * 1_000) + 100));
}

test('a claim that fails again and again is slowed and then parked, while the wallet’s other claims are paid', async () => {
  const player = await newClaimant(t);
  const epoch = await openEpoch(t, 900, [[player.wallet, 7n]]);
  const other = await openEpoch(t, 901, [[player.wallet, 9n]]);
  const delays: number[] = [];
  for (let failures = 1; failures <= 4; failures++) {
    // The claim may be failed, because the account was still closed when the next attempt was composed.
    expect((await requestClaim(player, epoch)).status).toBe(202);
    await failOnce(player, epoch, failures);
    delays.push((await transactionOf(900))?.delay ?? 0);
    if (failures < 4) await skipDelay(900);
  }
  expect(delays.map((delay) => delay > 0)).toEqual([false, true, true, true]);
  expect(delays[3]).toBeGreaterThan(160);
  expect(await storedClaims(t, 900)).toMatchObject([{ state: 'failed' }]);
  expect((await transactionOf(900))?.state).toBe('failed');

  const parked = await requestClaim(player, epoch);
  expect(parked.status).toBe(429);
  expect(Number(parked.headers.get('retry-after'))).toBeGreaterThan(100);
  expect((await jsonOf(parked, z.strictObject({ error: z.string() }))).error).toMatch(/^the claim of epoch 900 failed on the chain 4 times/);
  expect((await requestClaim(player, other, 20)).status).toBe(200);
  expect(await rewardOf(t, player.wallet, 'confirmed')).toBe(9n);

  // Four failures and one payment cost five fees and the bitmap page of the second epoch; the failed attempts gave the other page back.
  const page = BigInt(await t.chain.connection.getMinimumBalanceForRentExemption(48 + 1));
  const spent = BigInt((await transactionOf(900))?.sol ?? '0');
  expect(spent).toBeGreaterThanOrEqual(page + 25_000n);
  expect(spent).toBeLessThan(page + 100_000n);

  await skipDelay(900);
  expect((await requestClaim(player, epoch)).status).toBe(202);
  await failOnce(player, epoch, 5);
  expect(await storedClaims(t, 900)).toMatchObject([{ state: 'failed' }]);
  expect((await transactionOf(900))?.delay).toBeGreaterThan(1_000);

  await skipDelay(900);
  expect((await requestClaim(player, epoch, 20)).status).toBe(200);
  // The 9 base units of the other claim were lost when the test closed the account.
  expect(await rewardOf(t, player.wallet, 'confirmed')).toBe(7n);
});

test('a claim that failed once is sent again without a delay', async () => {
  const { epoch, players } = await newEpoch(t, 1);
  const [player] = players as [SignedIn];
  expect((await requestClaim(player, epoch)).status).toBe(202);
  await failOnce(player, epoch, 1);
  expect((await requestClaim(player, epoch, 20)).status).toBe(200);
});

const insertPending = statement(
  'test_insert_pending_of_wallet',
  `insert into chain_transactions (kind, subject, caller, next_at) select 'claim', gen_random_uuid()::text, $1, app_now() + interval '1 day' from generate_series(1, 100)`,
);
const deletePending = statement('test_delete_pending_of_wallet', 'delete from chain_transactions where caller = $1');

test('a wallet can have 100 claims in flight; the next request is 429, and the claims of other wallets are paid', async () => {
  const { epoch, players } = await newEpoch(t, 2);
  const [greedy, modest] = players as [SignedIn, SignedIn];
  await t.app.tx((tx) => tx.query(insertPending, [greedy.wallet]));
  const refused = await requestClaim(greedy, epoch);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5']);
  expect((await requestClaim(modest, epoch, 20)).status).toBe(200);
  await asOwner(t.app, (tx) => tx.query(deletePending, [greedy.wallet]));
  expect((await requestClaim(greedy, epoch, 20)).status).toBe(200);
});
