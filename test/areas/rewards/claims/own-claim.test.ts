import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { followEpochs } from '#areas/rewards';
import { epochRoot } from '#areas/rewards/chain/root.ts';
import { buildOwnClaim, readClaimOffer } from '#areas/rewards/claims/own-transaction.ts';
import { pageBytes } from '#platform/solana/distributor/index.ts';
import type { Signer } from '#platform/solana/primitives.ts';
import { TOKEN_ACCOUNT_BYTES } from '#platform/solana/tokens.ts';
import { sql } from '#test/support/areas/boards.ts';
import {
  insertComputedEpoch,
  openTokenAccount,
  type RewardsTest,
  rewardOf,
  startRewardsTest,
  storedClaims,
  tokenAccountOf,
} from '#test/support/solana/claims.ts';
import { runUntil } from '#test/support/solana/submission.ts';
import { createWallet } from '#test/support/wallet.ts';

// No workers run, so each test decides when the follower of epochs finds a claim.
let t: RewardsTest;
beforeAll(async () => {
  t = await startRewardsTest({ workers: false });
});
afterAll(() => t?.close());

const EPOCH = 800;
/** A wallet without a token account, and one with a token account. */
let without: Signer;
let owner: Signer;
const addressOf = ({ publicKey }: Signer) => publicKey.toBase58();
const build = (wallet: Signer, epoch = EPOCH) => buildOwnClaim(t.app, epoch, addressOf(wallet));
const rentOf = async (bytes: number) => BigInt(await t.chain.connection.getMinimumBalanceForRentExemption(bytes));
const finalize = async () => t.chain.control.finalized((await t.chain.control.status()).slot + 1);

beforeAll(async () => {
  [without, owner] = [await t.chain.fundWallet(), await t.chain.fundWallet()];
  await openTokenAccount(t, addressOf(owner));
  await insertComputedEpoch(t.app, EPOCH, [
    [addressOf(without), 70n],
    [addressOf(owner), 90n],
  ]);
  await runUntil(t.app, epochRoot, [String(EPOCH)], ['finalized']);
});

test('a wallet is offered to claim until a UTC day, or gets the reason why an epoch cannot be claimed', async () => {
  expect(await readClaimOffer(t.app, EPOCH)).toEqual({ expiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\d$/), refusal: null });
  await insertComputedEpoch(t.app, 801, [[createWallet().address, 5n]]);
  expect(await readClaimOffer(t.app, 801)).toEqual({ expiresAt: null, refusal: 'epoch 801 is not committed to the chain yet' });
  await sql(
    t.app,
    `insert into epochs (epoch, state, source, pool, dust, expiry_days, rules_version, formula, wallets, points, leaves, total, undistributed, computed_at)
     values (802, 'empty', 'computed', 5, 0, 90, 1, 1, 0, 0, 0, 0, 5, app_now())`,
  );
  expect((await readClaimOffer(t.app, 802)).refusal).toBe('epoch 802 has no rewards');
  await expect(readClaimOffer(t.app, 803)).rejects.toMatchObject({ status: 404, message: 'epoch 803 does not exist' });
  await expect(build(owner, 801)).rejects.toMatchObject({ status: 409, message: 'epoch 801 is not committed to the chain yet' });
});

test('the first claim of a wallet opens its token account and the bitmap page, and the wallet pays both rents', async () => {
  const { instructions, amount, rent } = await build(without);
  expect([instructions.length, amount, rent]).toEqual([2, 70n, (await rentOf(TOKEN_ACCOUNT_BYTES)) + (await rentOf(pageBytes(2, 0)))]);
  await t.chain.send(instructions, [without]);
  await finalize();
  expect(await rewardOf(t, addressOf(without))).toBe(70n);
});

test('a reward that is claimed on the chain or in the database is refused, and the rewards of other wallets are not', async () => {
  await expect(build(without)).rejects.toMatchObject({ status: 409, message: `epoch ${EPOCH} is claimed already` });
  await followEpochs(t.app);
  const [claim] = await storedClaims(t, EPOCH);
  const claimed = `epoch ${EPOCH} is claimed already, by transaction ${claim?.signature}`;
  await expect(build(without)).rejects.toMatchObject({ status: 409, message: claimed });
  await sql(t.app, `update claims set state = 'confirmed', proof = '' where epoch = $1`, [EPOCH]);
  await expect(build(without)).rejects.toMatchObject({ status: 409, message: claimed });
  await sql(t.app, `update claims set state = 'submitted' where epoch = $1`, [EPOCH]);
  await expect(build(without)).rejects.toMatchObject({
    status: 409,
    message: `the reward of epoch ${EPOCH} is being claimed; try again in a minute`,
  });
  expect(await build(owner)).toMatchObject({ amount: 90n });
});

test('a claim that opens no account costs no rent, and is refused while the token account is frozen', async () => {
  const account = tokenAccountOf(t, addressOf(owner)).toBase58();
  await t.chain.control.freeze(account);
  await finalize();
  await expect(build(owner)).rejects.toMatchObject({ status: 409, message: `the wallet’s token account ${account} is frozen` });
  await t.chain.control.freeze(account, false);
  await finalize();
  const { instructions, rent } = await build(owner);
  expect([instructions.length, rent]).toEqual([1, 0n]);
  await t.chain.send(instructions, [owner]);
  await finalize();
  expect(await rewardOf(t, addressOf(owner))).toBe(90n);
});
