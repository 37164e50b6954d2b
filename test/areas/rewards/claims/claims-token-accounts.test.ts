import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { createPayments, readPayment } from '#areas/payouts';
import { checkOpening } from '#areas/rewards/claims/token-accounts.ts';
import { newId } from '#lib/ids.ts';
import { statement } from '#platform/db/sql.ts';
import type { FetchedAccount } from '#platform/solana/primitives.ts';
import { sql } from '#test/support/areas/boards.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { NEW_ID } from '#test/support/database.ts';
import { jsonOf } from '#test/support/http/json.ts';
import {
  claimAsStranger,
  claimBody,
  leafOf,
  newClaimant,
  openEpoch,
  openTokenAccount,
  type RewardsTest,
  rewardOf,
  startRewardsTest,
  storedClaims,
  type TestEpoch,
  tokenAccountOf,
  untilClaim,
} from '#test/support/solana/claims.ts';
import type { SignedIn } from '#test/support/wallet.ts';

const MINIMUM = 1_000n;

let t: RewardsTest;
let rent: bigint;
beforeAll(async () => {
  t = await startRewardsTest({ env: { TOKEN_ACCOUNT_MIN_CLAIM: String(MINIMUM) } });
  rent = BigInt(await t.chain.connection.getMinimumBalanceForRentExemption(165));
});
afterAll(() => t.close());

const requestClaim = (by: SignedIn, epoch: TestEpoch) => by.fetch('/api/rewards/claim', { json: claimBody(epoch, by.wallet) });
const refusalOf = async (response: Promise<Response>) => [
  (await response).status,
  (await jsonOf(response, z.strictObject({ error: z.string() }))).error,
];
const OPEN_FIRST = [409, 'the wallet must open a token account for the reward token first'];

const readSpent = statement<{ reserved: string }>(
  'test_token_accounts_spent',
  `select coalesce(sum(reserved), 0)::text as reserved from chain_outflows where asset = 'token-accounts'`,
);
const spent = async () => BigInt((await t.app.db.query(readSpent))[0]?.reserved ?? '0');
const spendBudget = statement(
  'test_spend_budget',
  `insert into chain_outflows (day, asset, priority, reserved) values (app_day(), 'token-accounts', 'claims', $1::numeric)
   on conflict (day, asset, priority) do update set reserved = excluded.reserved`,
);
const setBudgetSpent = (amount: bigint) => t.app.tx((tx) => tx.query(spendBudget, [String(amount)]));

/** Closes a wallet's token account, as its owner can at any time. */
const close = async (wallet: string) => {
  const account = await t.chain.connection.getAccountInfo(tokenAccountOf(t, wallet));
  expect(account).not.toBeNull();
  await t.chain.control.setAccounts([{ address: tokenAccountOf(t, wallet).toBase58() }]);
};

test('a claim opens the wallet’s first token account, and its rent counts against the daily budget', async () => {
  const player = await newClaimant(t, { tokenAccount: false });
  const epoch = await openEpoch(t, 200, [[player.wallet, MINIMUM]]);
  const before = await spent();
  expect((await requestClaim(player, epoch)).status).toBe(200);
  expect(await rewardOf(t, player.wallet, 'confirmed')).toBe(MINIMUM);
  expect((await spent()) - before).toBe(rent);
});

test('the service opens the token account only of a wallet with accepted scores on enough days', async () => {
  const { tokenAccounts } = t.app.config.chain;
  expect(tokenAccounts).toMatchObject({ minDays: 0, minScores: 0 });
  const app = {
    ...t.app,
    config: { ...t.app.config, chain: { ...t.app.config.chain, tokenAccounts: { ...tokenAccounts, minDays: 2, minScores: 3 } } },
  };
  const { wallet } = await newClaimant(t, { tokenAccount: false });
  const check = () => checkOpening(app, { id: newId(), wallet, amount: MINIMUM }, t.chain.keys.rewardMint.publicKey.toBase58(), rent);
  const play = (day: number, status: string) =>
    sql(
      t.app,
      `insert into scores (id, wallet, game_id, game_version, body_hash, score, normalized, points, personal_best, status, mode, day, at)
       values (${NEW_ID}, $1, 'alpha', 1, '', 1, 1, 0, false, $3, 'regular', $2, app_now())`,
      [wallet, day, status],
    );
  const refused = { do: 'fail', error: { name: 'NoDestination', message: OPEN_FIRST[1] } };
  expect(await check()).toMatchObject(refused);
  for (const [day, status] of [
    [20_000, 'accepted'],
    [20_000, 'accepted'],
    [20_000, 'accepted'],
    [20_001, 'voided'],
    [20_002, 'held'],
  ] as const) {
    await play(day, status);
  }
  expect(await check()).toMatchObject(refused);
  await play(20_003, 'accepted');
  expect(await check()).toBeNull();
});

test('a token account that the wallet closed is not opened again by the next claim', async () => {
  const player = await newClaimant(t, { tokenAccount: false });
  const epochs = await Promise.all([201, 202].map((epoch) => openEpoch(t, epoch, [[player.wallet, MINIMUM]])));
  const [first, second] = epochs as [TestEpoch, TestEpoch];
  expect((await requestClaim(player, first)).status).toBe(200);
  await untilClaim(t, 201, 0, 'claimed');
  await close(player.wallet);
  const before = await spent();
  expect(await refusalOf(requestClaim(player, second))).toEqual(OPEN_FIRST);
  expect(await storedClaims(t, 202)).toMatchObject([{ state: 'failed', signature: null, reason: OPEN_FIRST[1] }]);
  expect(await spent()).toBe(before);

  await openTokenAccount(t, player.wallet);
  expect((await requestClaim(player, second)).status).toBe(200);
  expect(await rewardOf(t, player.wallet, 'confirmed')).toBe(MINIMUM);
  expect(await spent()).toBe(before);
});

test('a claim waits while one RPC node shows no token account or a frozen one, and the other node shows one that can receive the reward', async () => {
  const player = await newClaimant(t, { tokenAccount: false });
  const epochs = await Promise.all([211, 212].map((epoch) => openEpoch(t, epoch, [[player.wallet, MINIMUM]])));
  const [first, second] = epochs as [TestEpoch, TestEpoch];
  expect((await requestClaim(player, first)).status).toBe(200);
  await untilClaim(t, 211, 0, 'claimed');
  const address = tokenAccountOf(t, player.wallet).toBase58();
  const node = t.workerApp?.chain.node;
  if (!node) throw new Error('the test needs a worker');
  const read = node.accounts.bind(node);
  const frozen = (data: Buffer) => Buffer.concat([data.subarray(0, 108), Buffer.of(2), data.subarray(109)]);
  const states: ((account: FetchedAccount) => FetchedAccount)[] = [() => null, (account) => account && { ...account, data: frozen(account.data) }];
  for (const shown of states) {
    node.accounts = async (addresses, ...rest) => {
      const { slot, accounts } = await read(addresses, ...rest);
      return { slot, accounts: accounts.map((account, i) => (addresses[i]?.toBase58() === address ? shown(account) : account)) };
    };
    const answer = await player.fetch('/api/rewards/claim', { json: claimBody(second, player.wallet), headers: { Prefer: 'wait=1' } });
    expect(answer.status).toBe(202);
    expect(await storedClaims(t, 212)).toMatchObject([{ state: 'queued', reason: null }]);
  }
  node.accounts = read;
  await untilClaim(t, 212, 0, 'claimed');
});

test('a token account that a claim opened and the wallet closed is not opened again by a payment', async () => {
  const player = await newClaimant(t, { tokenAccount: false });
  const epoch = await openEpoch(t, 220, [[player.wallet, MINIMUM]]);
  expect((await requestClaim(player, epoch)).status).toBe(200);
  await untilClaim(t, 220, 0, 'claimed');
  await close(player.wallet);
  const before = await spent();
  const request = { wallet: player.wallet, currency: 'reward' as const, amount: 5n, cause: { kind: 'test', id: 'once' } };
  const [payment] = await t.app.tx((tx) => createPayments(t.app, tx, [request]));
  await retryUntilPass(async () => expect((await readPayment(t.app.db, payment?.id ?? ''))?.reason).toMatch(/opened the account once/));
  expect(await spent()).toBe(before);
});

test('two concurrent claims of a wallet open one token account', async () => {
  const player = await newClaimant(t, { tokenAccount: false });
  const epochs = await Promise.all([203, 204].map((epoch) => openEpoch(t, epoch, [[player.wallet, MINIMUM]])));
  const before = await spent();
  const answers = await Promise.all(epochs.map((epoch) => requestClaim(player, epoch)));
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect((await spent()) - before).toBe(rent);
  expect(await rewardOf(t, player.wallet, 'confirmed')).toBe(2n * MINIMUM);
});

test('a claim below the minimum amount does not open a token account', async () => {
  const player = await newClaimant(t, { tokenAccount: false });
  const epoch = await openEpoch(t, 205, [[player.wallet, MINIMUM - 1n]]);
  expect(await refusalOf(requestClaim(player, epoch))).toEqual(OPEN_FIRST);
  await openTokenAccount(t, player.wallet);
  expect((await requestClaim(player, epoch)).status).toBe(200);
});

test('a claim opens a token account only while the daily budget covers the rent', async () => {
  const player = await newClaimant(t, { tokenAccount: false });
  const epoch = await openEpoch(t, 206, [[player.wallet, MINIMUM]]);
  // A fifth of the budget is reserved for payouts.
  const budget = (t.app.config.chain.tokenAccounts.dailyBudget * 4n) / 5n;
  await setBudgetSpent(budget - rent + 1n);
  expect(await refusalOf(requestClaim(player, epoch))).toEqual(OPEN_FIRST);
  await setBudgetSpent(budget - rent);
  expect((await requestClaim(player, epoch)).status).toBe(200);
  expect(await spent()).toBe(budget);
  await setBudgetSpent(0n);
});

test('a claim opens a token account at an address to which a stranger has sent lamports', async () => {
  const player = await newClaimant(t, { tokenAccount: false });
  const epoch = await openEpoch(t, 207, [[player.wallet, MINIMUM]]);
  await t.chain.localnet.fund(tokenAccountOf(t, player.wallet), { lamports: 900_000 });
  expect((await requestClaim(player, epoch)).status).toBe(200);
  expect(await rewardOf(t, player.wallet, 'confirmed')).toBe(MINIMUM);
});

test('a claim to a frozen token account fails, and can be requested again after the account is thawed', async () => {
  const player = await newClaimant(t);
  const epoch = await openEpoch(t, 208, [[player.wallet, 5n]]);
  const account = tokenAccountOf(t, player.wallet).toBase58();
  await t.chain.control.freeze(account);
  expect(await refusalOf(requestClaim(player, epoch))).toEqual([409, 'the token account of the wallet is frozen']);
  await t.chain.control.freeze(account, false);
  expect((await requestClaim(player, epoch)).status).toBe(200);
  expect(await rewardOf(t, player.wallet, 'confirmed')).toBe(5n);
});

test('a stranger’s claim does not spend our budget for token accounts', async () => {
  const player = await newClaimant(t);
  const epoch = await openEpoch(t, 210, [[player.wallet, MINIMUM]]);
  const before = await spent();
  await claimAsStranger(t, epoch, [leafOf(epoch, player.wallet)]);
  await untilClaim(t, 210, 0, 'claimed');
  expect(await spent()).toBe(before);
});
