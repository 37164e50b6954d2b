import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { statement } from '#platform/db/sql.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { asOwner } from '#test/support/database.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { startTestChain } from '#test/support/solana/chain.ts';
import {
  claimBody,
  newClaimant,
  newEpoch,
  openEpoch,
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
  // The blockhash of an attempt must stay valid while the tests hold the attempt back, also on a busy machine: 150 blocks are 7.5 seconds.
  t = await startRewardsTest({ chain: await startTestChain({ slotMs: 50 }) });
});
afterEach(() => t.chain.control.clear());
afterAll(async () => {
  await t.close();
  await t.chain.close();
});

const requestClaim = (by: SignedIn, epoch: TestEpoch, wait = 0) =>
  by.fetch('/api/rewards/claim', { json: claimBody(epoch, by.wallet), headers: { Prefer: `wait=${wait}` } });
const selectTransaction = statement<{ refusals: number; state: string; delay: number; sol: string }>(
  'test_transaction_of_claim',
  `select t.refusals, t.state, extract(epoch from t.next_at - app_now())::float8 as delay,
     (select coalesce(sum(reserved), 0)::text from chain_outflows where asset = 'sol' and priority = 'claims') as sol
   from chain_transactions t join claims c on c.id::text = t.subject where t.kind = 'claim' and c.epoch = $1`,
);
const transactionOf = async (epoch: number) => (await t.app.db.query(selectTransaction, [epoch]))[0];

/** Lets the nodes drop every transaction until the faults are cleared. */
const dropTransactions = () => t.chain.control.fault({ kind: 'drop', methods: ['sendTransaction'] });

/**
 * Requests a claim and lets its next attempt fail: the token account is closed when the attempt lands. No attempt lands earlier or later, because the nodes
 * drop every transaction until the account is closed, and again after the failure until the caller clears the faults.
 * @param failures number of failed attempts afterwards
 */
async function failOnce(player: SignedIn, epoch: TestEpoch, failures: number): Promise<void> {
  const address = tokenAccountOf(t, player.wallet);
  const open = await t.chain.connection.getAccountInfo(address, 'processed');
  if (open === null) throw new Error('the wallet has no token account');
  const account = { lamports: open.lamports, owner: open.owner.toBase58(), data: open.data.toString('base64') };

  await dropTransactions();
  expect((await requestClaim(player, epoch)).status).toBe(202);
  await retryUntilPass(async () => expect(await transactionOf(epoch.epoch)).toMatchObject({ state: 'live', refusals: failures - 1 }));
  await t.chain.control.setAccounts([{ address: address.toBase58() }]);
  await t.chain.control.clear();
  await retryUntilPass(async () => expect(await transactionOf(epoch.epoch)).toMatchObject({ refusals: failures }));
  await dropTransactions();
  await t.chain.control.setAccounts([{ address: address.toBase58(), account }]);
  // An attempt is composed from the confirmed accounts. Before the open account is confirmed, the claim would fail without an attempt.
  await retryUntilPass(async () => expect(await t.chain.connection.getAccountInfo(address, 'confirmed')).not.toBeNull());
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
  await t.chain.control.clear();
  expect((await requestClaim(player, other, 20)).status).toBe(200);
  expect(await rewardOf(t, player.wallet, 'confirmed')).toBe(9n);

  // Four failures and one payment cost five fees and the bitmap page of the second epoch; the failed attempts gave the other page back.
  const page = BigInt(await t.chain.connection.getMinimumBalanceForRentExemption(48 + 1));
  const spent = BigInt((await transactionOf(900))?.sol ?? '0');
  expect(spent).toBeGreaterThanOrEqual(page + 25_000n);
  expect(spent).toBeLessThan(page + 100_000n);

  await skipDelay(900);
  await failOnce(player, epoch, 5);
  expect(await storedClaims(t, 900)).toMatchObject([{ state: 'failed' }]);
  expect((await transactionOf(900))?.delay).toBeGreaterThan(1_000);

  await skipDelay(900);
  await t.chain.control.clear();
  expect((await requestClaim(player, epoch, 20)).status).toBe(200);
  expect(await rewardOf(t, player.wallet, 'confirmed')).toBe(16n);
});

test('a claim that failed once is sent again without a delay', async () => {
  const { epoch, players } = await newEpoch(t, 1);
  const [player] = players as [SignedIn];
  await failOnce(player, epoch, 1);
  expect((await transactionOf(epoch.epoch))?.delay).toBeLessThan(2);
  await t.chain.control.clear();
  // On a busy machine an attempt may still be composed from the closed account, and its failure answers the first request.
  await retryUntilPass(async () => expect((await requestClaim(player, epoch, 20)).status).toBe(200));
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
