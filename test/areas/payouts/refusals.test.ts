import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { postRetry } from '#areas/payouts/routes/payments.ts';
import { statement } from '#platform/db/sql.ts';
import { accountEntry, instruction } from '#platform/solana/primitives.ts';
import { associatedTokenAddress, mintTo, TOKEN_PROGRAM, transferChecked } from '#platform/solana/tokens.ts';
import {
  accountOf,
  balanceOf,
  balancesOf,
  createAllPayments,
  eventsOf,
  openAccounts,
  type PayoutsTest,
  paymentRequest,
  planNow,
  startPayoutsTest,
  storedPayments,
  untilPaid,
} from '#test/support/areas/payouts.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { adminOf } from '#test/support/http/client.ts';

let t: PayoutsTest;
beforeAll(async () => {
  t = await startPayoutsTest({ env: { PAYOUT_LANES: '1', DAILY_REWARD_LIMIT: '1000', TOKEN_ACCOUNT_DAILY_BUDGET: '60000000' } });
  await untilPaid(t, await createAllPayments(t, [paymentRequest()]));
});
afterEach(() => t.chain.control.clear());
afterAll(() => t.close());

const selectErrors = statement<{ state: string; landed: boolean; error: string | null }>(
  'test_batch_errors',
  `select distinct b.state, b.signature is not null as landed, b.error->>'name' as error from payout_batches b
   join payout_batch_members m on m.batch = b.id where m.payment = any($1::uuid[])`,
);
const setDue = statement('test_make_payment_due', `update chain_transactions set next_at = app_now() where state = 'queued'`);

/** Creates payments, waits until they are in a batch, runs `meanwhile`, and only then lets the batch be signed. */
async function batchThen(create: () => Promise<{ id: string; created: boolean }[]>, meanwhile: () => Promise<void>) {
  // The batch is stored but not signed, because its simulation fails.
  const failing = await t.chain.control.fault({ kind: 'fail', methods: ['simulateTransaction'] });
  const owed = await create();
  await untilPaid(t, owed, 'batched');
  await meanwhile();
  await failing.clear();
  await t.app.tx((tx) => tx.query(setDue));
  return owed;
}

test('a payment to a frozen account becomes manual with the reason, the other members are paid, and a retry completes it later', async () => {
  const all = Array.from({ length: 5 }, () => paymentRequest());
  const [frozen] = all;
  if (!frozen) throw new Error('no request was built');
  await openAccounts(
    t,
    all.map(({ wallet }) => wallet),
  );
  const owed = await batchThen(
    () => createAllPayments(t, all),
    () => t.chain.control.freeze(accountOf(t, frozen.wallet).toBase58()),
  );
  const [manual, ...others] = owed;
  if (!manual) throw new Error('no payment was created');
  await untilPaid(t, others);
  const [row] = await untilPaid(t, [manual], 'manual');
  expect(row).toMatchObject({ reason: 'the token account of the wallet is frozen', signature: null });
  expect((await eventsOf(t, manual)).map(({ type, payload }) => [type, payload.reason])).toEqual([
    ['payout_failed', 'the token account of the wallet is frozen'],
  ]);
  expect(await balanceOf(t, frozen.wallet)).toBe(0n);

  await t.chain.control.freeze(accountOf(t, frozen.wallet).toBase58(), false);
  const { body } = await adminOf(t).ok(postRetry, { params: { id: manual.id } });
  expect(body.status).toBe('pending');
  await untilPaid(t, [manual]);
  expect(await balanceOf(t, frozen.wallet)).toBe(frozen.amount);
});

test('when a signed batch lands with an error, no member is paid by it, and the payable members are paid by another batch', async () => {
  const all = Array.from({ length: 4 }, () => paymentRequest());
  const wallets = all.map(({ wallet }) => wallet);
  await openAccounts(t, wallets);
  const late = await t.chain.control.fault({ kind: 'late', mentions: t.chain.keys.usdcMint.publicKey.toBase58(), slots: 40 });
  const owed = await createAllPayments(t, all);
  await retryUntilPass(async () => expect(await late.hits()).toBeGreaterThan(0));
  const frozen = accountOf(t, wallets[0] ?? '').toBase58();
  await t.chain.control.freeze(frozen);
  const [manual, ...others] = owed;
  if (!manual) throw new Error('no payment was created');
  await untilPaid(t, others);
  const [row] = await untilPaid(t, [manual], 'manual');
  expect(row?.reason).toBe('the token account of the wallet is frozen');
  expect(await t.app.db.query(selectErrors, [owed.map(({ id }) => id)])).toContainEqual({
    state: 'over',
    landed: true,
    error: expect.stringContaining('Custom17'),
  });
  expect(await balancesOf(t, wallets)).toEqual([0n, ...all.slice(1).map(({ amount }) => amount)]);
});

test('a payment to an account that was frozen before planning becomes manual', async () => {
  const one = paymentRequest();
  await openAccounts(t, [one.wallet]);
  await t.chain.control.freeze(accountOf(t, one.wallet).toBase58());
  const [row] = await untilPaid(t, await createAllPayments(t, [one]), 'manual');
  expect(row?.reason).toBe('the token account of the wallet is frozen');
});

test('a token account whose owner was changed receives no payment', async () => {
  const [owner, thief] = [await t.chain.fundWallet({ lamports: 1_000_000_000, usdc: 1n }), await t.chain.fundWallet()];
  const account = associatedTokenAddress(owner.publicKey, t.chain.keys.usdcMint.publicKey);
  const SET_AUTHORITY = 6;
  const ACCOUNT_OWNER = 2;
  const giveAway = instruction(
    TOKEN_PROGRAM,
    [accountEntry(account, true), accountEntry(owner.publicKey, false, true)],
    Buffer.concat([Buffer.from([SET_AUTHORITY, ACCOUNT_OWNER, 1]), thief.publicKey.toBytes()]),
  );
  const signature = await t.chain.send([giveAway], [owner]);
  await retryUntilPass(async () => expect((await t.chain.connection.getSignatureStatus(signature)).value?.confirmationStatus).toBe('finalized'));
  const [row] = await untilPaid(t, await createAllPayments(t, [paymentRequest({ wallet: owner.publicKey.toBase58() })]), 'manual');
  expect(row?.reason).toBe('the token account of the wallet has another owner');
});

/** Builds the instruction that closes an empty token account. */
const closing = (account: ReturnType<typeof accountOf>, owner: { publicKey: typeof account }) =>
  instruction(
    TOKEN_PROGRAM,
    [accountEntry(account, true), accountEntry(owner.publicKey, true), accountEntry(owner.publicKey, false, true)],
    Buffer.from([9]),
  );

test('when a wallet closes its token account before the batch is signed, the next batch opens it', async () => {
  const owner = await t.chain.fundWallet();
  const one = paymentRequest({ wallet: owner.publicKey.toBase58() });
  await openAccounts(t, [one.wallet]);
  const owed = await batchThen(
    () => createAllPayments(t, [one]),
    async () => {
      const signature = await t.chain.send([closing(accountOf(t, one.wallet), owner)], [owner]);
      await retryUntilPass(async () => expect((await t.chain.connection.getSignatureStatus(signature)).value?.confirmationStatus).toBe('finalized'));
    },
  );
  await untilPaid(t, owed);
  expect(await balanceOf(t, one.wallet)).toBe(one.amount);
});

test('a batch opens a wallet’s token account only once; after the wallet closes it, payments wait until the wallet opens it', async () => {
  const owner = await t.chain.fundWallet();
  const { usdcMint } = t.chain.keys;
  const one = paymentRequest({ wallet: owner.publicKey.toBase58() });
  await untilPaid(t, await createAllPayments(t, [one]));
  const account = accountOf(t, one.wallet);
  const away = transferChecked({
    from: account,
    to: accountOf(t, t.chain.keys.treasury.publicKey.toBase58()),
    owner: owner.publicKey,
    mint: usdcMint.publicKey,
    decimals: 6,
    amount: one.amount,
  });
  await t.chain.send([away, closing(account, owner)], [owner]);
  await retryUntilPass(async () => expect(await t.chain.connection.getAccountInfo(account, 'finalized')).toBeNull());
  const owed = await createAllPayments(t, [paymentRequest({ wallet: one.wallet })]);
  await retryUntilPass(async () => {
    const [row] = await storedPayments(t, owed);
    expect(row).toMatchObject({
      state: 'pending',
      reason: 'waits until the wallet opens its token account: we opened the account once, and the wallet closed it',
    });
  });
  await openAccounts(t, [one.wallet]);
  await planNow(t, owed);
  await untilPaid(t, owed);
  expect(await balanceOf(t, one.wallet)).toBe(1_000_000n);
});

test('when the treasury holds too little, some payments are made in full, the others wait, and they are paid after a refill', async () => {
  const { usdcMint, treasury, mintAuthority } = t.chain.keys;
  const source = associatedTokenAddress(treasury.publicKey, usdcMint.publicKey);
  const held = await balanceOf(t, treasury.publicKey.toBase58());
  const drain = await t.chain.fundWallet({ lamports: 1_000_000_000, usdc: 1n });
  const away = transferChecked({
    from: source,
    to: associatedTokenAddress(drain.publicKey, usdcMint.publicKey),
    owner: treasury.publicKey,
    mint: usdcMint.publicKey,
    decimals: 6,
    amount: held - 1_500n,
  });
  const signature = await t.chain.send([away], [treasury]);
  await retryUntilPass(async () => expect((await t.chain.connection.getSignatureStatus(signature)).value?.confirmationStatus).toBe('finalized'));

  const all = [1_000n, 700n, 400n].map((amount) => paymentRequest({ amount }));
  const wallets = all.map(({ wallet }) => wallet);
  const owed = await createAllPayments(t, all);
  await retryUntilPass(async () => {
    const rows = await storedPayments(t, owed);
    expect(rows.filter(({ state }) => state === 'completed').length).toBeGreaterThan(0);
    expect(rows.filter(({ reason }) => reason === 'waits until the treasury holds enough').length).toBeGreaterThan(0);
  });
  const paid = await balancesOf(t, wallets);
  expect(paid.every((amount, i) => amount === 0n || amount === all[i]?.amount)).toBe(true);
  expect((await storedPayments(t, owed)).filter(({ state }) => state === 'manual')).toEqual([]);

  await t.chain.send([mintTo(usdcMint.publicKey, source, mintAuthority.publicKey, 10_000_000_000n)], [mintAuthority]);
  await retryUntilPass(async () => expect(await balanceOf(t, treasury.publicKey.toBase58())).toBeGreaterThan(10_000_000_000n));
  await planNow(t, owed);
  await untilPaid(t, owed);
  expect(await balancesOf(t, wallets)).toEqual(all.map(({ amount }) => amount));
});

test('while the treasury’s token account is frozen, payments stay pending and none becomes manual', async () => {
  const { usdcMint, treasury } = t.chain.keys;
  const source = associatedTokenAddress(treasury.publicKey, usdcMint.publicKey);
  await t.chain.control.freeze(source.toBase58());
  const owed = await createAllPayments(t, [paymentRequest(), paymentRequest()]);
  await retryUntilPass(async () => {
    expect((await storedPayments(t, owed)).map(({ state, reason }) => [state, reason])).toEqual([
      ['pending', 'waits until the treasury can pay in this currency'],
      ['pending', 'waits until the treasury can pay in this currency'],
    ]);
  });
  await t.chain.control.freeze(source.toBase58(), false);
  await planNow(t, owed);
  await untilPaid(t, owed);
});

test('payments beyond the daily limit wait for the next day', async () => {
  const all = [600n, 500n, 300n].map((amount) => paymentRequest({ amount, currency: 'reward' }));
  const owed = await createAllPayments(t, all);
  const LIMIT = 'waits for the next day: the daily limit is reached';
  let waiting: string[] = [];
  await retryUntilPass(async () => {
    const rows = await storedPayments(t, owed);
    waiting = rows.filter(({ state, reason }) => state === 'pending' && reason === LIMIT).map(({ id }) => id);
    expect(rows.filter(({ state }) => state === 'completed').length + waiting.length).toBe(3);
  });
  expect(waiting.length).toBeGreaterThan(0);
  const wallets = all.map(({ wallet }) => wallet);
  const paid = (await balancesOf(t, wallets, 'reward')).reduce((sum, amount) => sum + amount, 0n);
  expect(paid <= 1_000n && paid > 0n).toBe(true);
  await t.clock.set(new Date(t.clock.now().getTime() + 86_400_000));
  await planNow(t, owed);
  await untilPaid(t, owed);
  expect(await balancesOf(t, wallets, 'reward')).toEqual(all.map(({ amount }) => amount));
});
