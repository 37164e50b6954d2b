import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { owe, readPayment } from '#areas/payouts';
import { statement } from '#platform/db/sql.ts';
import { eventually } from '#test/support/areas/player.ts';
import { bodyOf } from '#test/support/http/json.ts';
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

const ask = (by: SignedIn, epoch: TestEpoch) => by.fetch('/api/rewards/claim', { json: claimBody(epoch, by.wallet) });
const refusalOf = async (response: Promise<Response>) => [
  (await response).status,
  (await bodyOf(response, z.strictObject({ error: z.string() }))).error,
];
const OPEN_FIRST = [409, 'open a token account first: the wallet has none for the reward token'];

const readSpent = statement<{ reserved: string }>(
  'test_token_accounts_spent',
  `select coalesce(sum(reserved), 0)::text as reserved from chain_outflows where asset = 'token-accounts'`,
);
const spent = async () => BigInt((await t.app.db.query(readSpent))[0]?.reserved ?? '0');
const spendBudget = statement(
  'test_spend_budget',
  `insert into chain_outflows (day, asset, reserved) values (app_day(), 'token-accounts', $1::numeric)
   on conflict (day, asset) do update set reserved = excluded.reserved`,
);
const setBudgetSpent = (amount: bigint) => t.app.tx((tx) => tx.query(spendBudget, [String(amount)]));

/** Closes a wallet's token account, as its owner may at any time. */
const close = async (wallet: string) => {
  const account = await t.chain.connection.getAccountInfo(tokenAccountOf(t, wallet));
  expect(account).not.toBeNull();
  await t.chain.control.setAccounts([{ address: tokenAccountOf(t, wallet).toBase58() }]);
};

test('a wallet’s first token account is opened with its claim, and paid from the budget for that', async () => {
  const player = await newClaimant(t, { tokenAccount: false });
  const epoch = await openEpoch(t, 200, [[player.wallet, MINIMUM]]);
  const before = await spent();
  expect((await ask(player, epoch)).status).toBe(200);
  expect(await rewardOf(t, player.wallet, 'confirmed')).toBe(MINIMUM);
  expect((await spent()) - before).toBe(rent);
});

test('it is opened once: who closes it and claims again opens the next one', async () => {
  const player = await newClaimant(t, { tokenAccount: false });
  const epochs = await Promise.all([201, 202].map((epoch) => openEpoch(t, epoch, [[player.wallet, MINIMUM]])));
  const [first, second] = epochs as [TestEpoch, TestEpoch];
  expect((await ask(player, first)).status).toBe(200);
  await untilClaim(t, 201, 0, 'claimed');
  await close(player.wallet);
  const before = await spent();
  expect(await refusalOf(ask(player, second))).toEqual(OPEN_FIRST);
  expect(await storedClaims(t, 202)).toMatchObject([{ state: 'failed', signature: null, reason: OPEN_FIRST[1] }]);
  expect(await spent()).toBe(before);

  await openTokenAccount(t, player.wallet);
  expect((await ask(player, second)).status).toBe(200);
  expect(await rewardOf(t, player.wallet, 'confirmed')).toBe(MINIMUM);
  expect(await spent()).toBe(before);
});

test('it is opened once, whether for a claim or a payment', async () => {
  const player = await newClaimant(t, { tokenAccount: false });
  const epoch = await openEpoch(t, 220, [[player.wallet, MINIMUM]]);
  expect((await ask(player, epoch)).status).toBe(200);
  await untilClaim(t, 220, 0, 'claimed');
  await close(player.wallet);
  const before = await spent();
  const debt = { wallet: player.wallet, currency: 'reward' as const, amount: 5n, cause: { kind: 'test', id: 'once' } };
  const [owed] = await t.app.tx((tx) => owe(t.app, tx, [debt]));
  await eventually(async () => expect((await readPayment(t.app.db, owed?.id ?? ''))?.reason).toMatch(/opened it once/));
  expect(await spent()).toBe(before);
});

test('two claims of a wallet at once open one token account', async () => {
  const player = await newClaimant(t, { tokenAccount: false });
  const epochs = await Promise.all([203, 204].map((epoch) => openEpoch(t, epoch, [[player.wallet, MINIMUM]])));
  const before = await spent();
  const answers = await Promise.all(epochs.map((epoch) => ask(player, epoch)));
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect((await spent()) - before).toBe(rent);
  expect(await rewardOf(t, player.wallet, 'confirmed')).toBe(2n * MINIMUM);
});

test('it is not opened for less than the minimum', async () => {
  const player = await newClaimant(t, { tokenAccount: false });
  const epoch = await openEpoch(t, 205, [[player.wallet, MINIMUM - 1n]]);
  expect(await refusalOf(ask(player, epoch))).toEqual(OPEN_FIRST);
  await openTokenAccount(t, player.wallet);
  expect((await ask(player, epoch)).status).toBe(200);
});

test('it is not opened once the day’s budget is spent, and again the next day', async () => {
  const player = await newClaimant(t, { tokenAccount: false });
  const epoch = await openEpoch(t, 206, [[player.wallet, MINIMUM]]);
  const budget = t.app.config.chain.tokenAccounts.dailyBudget;
  await setBudgetSpent(budget - rent + 1n);
  expect(await refusalOf(ask(player, epoch))).toEqual(OPEN_FIRST);
  await setBudgetSpent(budget - rent);
  expect((await ask(player, epoch)).status).toBe(200);
  expect(await spent()).toBe(budget);
  await setBudgetSpent(0n);
});

test('lamports that somebody sent to the address of a token account do not keep it from being opened', async () => {
  const player = await newClaimant(t, { tokenAccount: false });
  const epoch = await openEpoch(t, 207, [[player.wallet, MINIMUM]]);
  await t.chain.localnet.fund(tokenAccountOf(t, player.wallet), { lamports: 900_000 });
  expect((await ask(player, epoch)).status).toBe(200);
  expect(await rewardOf(t, player.wallet, 'confirmed')).toBe(MINIMUM);
});

test('a frozen token account gets nothing and loses nothing', async () => {
  const player = await newClaimant(t);
  const epoch = await openEpoch(t, 208, [[player.wallet, 5n]]);
  const account = tokenAccountOf(t, player.wallet).toBase58();
  await t.chain.control.freeze(account);
  expect(await refusalOf(ask(player, epoch))).toEqual([409, 'the token account of the wallet is frozen']);
  await t.chain.control.freeze(account, false);
  expect((await ask(player, epoch)).status).toBe(200);
  expect(await rewardOf(t, player.wallet, 'confirmed')).toBe(5n);
});

test('the first claim of a page pays its rent, and the others do not', async () => {
  const players = await Promise.all(Array.from({ length: 6 }, () => newClaimant(t)));
  const epoch = await openEpoch(
    t,
    209,
    players.map(({ wallet }) => [wallet, 5n]),
  );
  const fees = async () => BigInt((await t.app.db.query(readSol))[0]?.reserved ?? '0');
  const before = await fees();
  await Promise.all(players.map((player) => ask(player, epoch)));
  const page = BigInt(await t.chain.connection.getMinimumBalanceForRentExemption(48 + 1));
  // Whatever had to be signed again offers a little for priority.
  const priority = (await fees()) - before - page - 6n * 5_000n;
  expect(priority).toBeGreaterThanOrEqual(0n);
  expect(priority).toBeLessThan(6n * 1_000n);
});
const readSol = statement<{ reserved: string }>(
  'test_sol_spent',
  `select coalesce(sum(reserved), 0)::text as reserved from chain_outflows where asset = 'sol'`,
);

test('a stranger’s claim opens nothing at our cost', async () => {
  const player = await newClaimant(t);
  const epoch = await openEpoch(t, 210, [[player.wallet, MINIMUM]]);
  const before = await spent();
  await claimAsStranger(t, epoch, [leafOf(epoch, player.wallet)]);
  await untilClaim(t, 210, 0, 'claimed');
  expect(await spent()).toBe(before);
});
