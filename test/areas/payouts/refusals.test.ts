import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { TransactionInstruction } from '@solana/web3.js';
import { postRetry } from '#areas/payouts/routes/payments.ts';
import { statement } from '#platform/db/sql.ts';
import { associatedTokenAddress, mintTo, TOKEN_PROGRAM, transferChecked } from '#platform/solana/tokens.ts';
import {
  accountOf,
  balanceOf,
  balancesOf,
  debt,
  eventsOf,
  lookAgain,
  openAccounts,
  oweAll,
  type PayoutsTest,
  startPayoutsTest,
  storedPayments,
  untilPaid,
} from '#test/support/areas/payouts.ts';
import { eventually } from '#test/support/areas/player.ts';
import { adminOf } from '#test/support/http/client.ts';

let t: PayoutsTest;
beforeAll(async () => {
  t = await startPayoutsTest({ env: { PAYOUT_LANES: '1', DAILY_REWARD_LIMIT: '1000', TOKEN_ACCOUNT_DAILY_BUDGET: '60000000' } });
  await untilPaid(t, await oweAll(t, [debt()]));
});
afterEach(() => t.chain.control.clear());
afterAll(() => t.close());

const selectErrors = statement<{ state: string; landed: boolean; error: string | null }>(
  'test_batch_errors',
  `select distinct b.state, b.signature is not null as landed, b.error->>'name' as error from payout_batches b
   join payout_batch_members m on m.batch = b.id where m.payment = any($1::uuid[])`,
);
const setDue = statement('test_make_due', `update chain_transactions set next_at = app_now() where state = 'queued'`);

/** Has payments planned into a batch that is not signed until `meanwhile` has happened. */
async function batchedAnd(owing: () => Promise<{ id: string; created: boolean }[]>, meanwhile: () => Promise<void>) {
  // The batch is made, and its simulation does not get through.
  const failing = await t.chain.control.fault({ kind: 'fail', methods: ['simulateTransaction'] });
  const owed = await owing();
  await untilPaid(t, owed, 'batched');
  await meanwhile();
  await failing.clear();
  await t.app.tx((tx) => tx.query(setDue));
  return owed;
}

test('who cannot be paid is set aside with the reason, the others of the batch are paid, and a retry pays him later', async () => {
  const all = Array.from({ length: 5 }, () => debt());
  const [frozen] = all;
  if (!frozen) throw new Error('no debts');
  await openAccounts(
    t,
    all.map(({ wallet }) => wallet),
  );
  const owed = await batchedAnd(
    () => oweAll(t, all),
    () => t.chain.control.freeze(accountOf(t, frozen.wallet).toBase58()),
  );
  const [aside, ...others] = owed;
  if (!aside) throw new Error('nothing is owed');
  await untilPaid(t, others);
  const [row] = await untilPaid(t, [aside], 'manual');
  expect(row).toMatchObject({ reason: 'the token account of the wallet is frozen', signature: null });
  expect((await eventsOf(t, aside)).map(({ type, payload }) => [type, payload.reason])).toEqual([
    ['payout_failed', 'the token account of the wallet is frozen'],
  ]);
  expect(await balanceOf(t, frozen.wallet)).toBe(0n);

  await t.chain.control.freeze(accountOf(t, frozen.wallet).toBase58(), false);
  const { body } = await adminOf(t).ok(postRetry, { params: { id: aside.id } });
  expect(body.status).toBe('pending');
  await untilPaid(t, [aside]);
  expect(await balanceOf(t, frozen.wallet)).toBe(frozen.amount);
});

test('a batch that was good when it was signed, and lands as an error, has paid nobody: its members regroup', async () => {
  const all = Array.from({ length: 4 }, () => debt());
  const wallets = all.map(({ wallet }) => wallet);
  await openAccounts(t, wallets);
  const late = await t.chain.control.fault({ kind: 'late', mentions: t.chain.keys.usdcMint.publicKey.toBase58(), slots: 40 });
  const owed = await oweAll(t, all);
  await eventually(async () => expect(await late.hits()).toBeGreaterThan(0));
  const frozen = accountOf(t, wallets[0] ?? '').toBase58();
  await t.chain.control.freeze(frozen);
  const [aside, ...others] = owed;
  if (!aside) throw new Error('nothing is owed');
  await untilPaid(t, others);
  const [row] = await untilPaid(t, [aside], 'manual');
  expect(row?.reason).toBe('the token account of the wallet is frozen');
  expect(await t.app.db.query(selectErrors, [owed.map(({ id }) => id)])).toContainEqual({
    state: 'over',
    landed: true,
    error: expect.stringContaining('Custom17'),
  });
  expect(await balancesOf(t, wallets)).toEqual([0n, ...all.slice(1).map(({ amount }) => amount)]);
});

test('an account that is frozen before any batch is made is seen at once', async () => {
  const one = debt();
  await openAccounts(t, [one.wallet]);
  await t.chain.control.freeze(accountOf(t, one.wallet).toBase58());
  const [row] = await untilPaid(t, await oweAll(t, [one]), 'manual');
  expect(row?.reason).toBe('the token account of the wallet is frozen');
});

test('a token account that was made over to somebody else is not paid into', async () => {
  const [owner, thief] = [await t.chain.fundWallet({ lamports: 1_000_000_000, usdc: 1n }), await t.chain.fundWallet()];
  const account = associatedTokenAddress(owner.publicKey, t.chain.keys.usdcMint.publicKey);
  const SET_AUTHORITY = 6;
  const ACCOUNT_OWNER = 2;
  const giveAway = new TransactionInstruction({
    programId: TOKEN_PROGRAM,
    keys: [
      { pubkey: account, isSigner: false, isWritable: true },
      { pubkey: owner.publicKey, isSigner: true, isWritable: false },
    ],
    data: Buffer.concat([Buffer.from([SET_AUTHORITY, ACCOUNT_OWNER, 1]), thief.publicKey.toBuffer()]),
  });
  const signature = await t.chain.send([giveAway], [owner]);
  await eventually(async () => expect((await t.chain.connection.getSignatureStatus(signature)).value?.confirmationStatus).toBe('finalized'));
  const [row] = await untilPaid(t, await oweAll(t, [debt({ wallet: owner.publicKey.toBase58() })]), 'manual');
  expect(row?.reason).toBe('the token account of the wallet belongs to somebody else');
});

/** Closes an empty token account. */
const closing = (account: ReturnType<typeof accountOf>, owner: { publicKey: typeof account }) =>
  new TransactionInstruction({
    programId: TOKEN_PROGRAM,
    keys: [
      { pubkey: account, isSigner: false, isWritable: true },
      { pubkey: owner.publicKey, isSigner: false, isWritable: true },
      { pubkey: owner.publicKey, isSigner: true, isWritable: false },
    ],
    data: Buffer.from([9]),
  });

test('a token account that is closed before the batch is signed is opened with the next one', async () => {
  const owner = await t.chain.fundWallet();
  const one = debt({ wallet: owner.publicKey.toBase58() });
  await openAccounts(t, [one.wallet]);
  const owed = await batchedAnd(
    () => oweAll(t, [one]),
    async () => {
      const signature = await t.chain.send([closing(accountOf(t, one.wallet), owner)], [owner]);
      await eventually(async () => expect((await t.chain.connection.getSignatureStatus(signature)).value?.confirmationStatus).toBe('finalized'));
    },
  );
  await untilPaid(t, owed);
  expect(await balanceOf(t, one.wallet)).toBe(one.amount);
});

test('a wallet’s token account is opened at our cost once; closed again, what it is owed waits until the wallet opens it', async () => {
  const owner = await t.chain.fundWallet();
  const { usdcMint } = t.chain.keys;
  const one = debt({ wallet: owner.publicKey.toBase58() });
  await untilPaid(t, await oweAll(t, [one]));
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
  await eventually(async () => expect(await t.chain.connection.getAccountInfo(account, 'finalized')).toBeNull());
  const owed = await oweAll(t, [debt({ wallet: one.wallet })]);
  await eventually(async () => {
    const [row] = await storedPayments(t, owed);
    expect(row).toMatchObject({ state: 'pending', reason: 'waits until the wallet opens its token account: we opened it once, and it was closed' });
  });
  await openAccounts(t, [one.wallet]);
  await lookAgain(t, owed);
  await untilPaid(t, owed);
  expect(await balanceOf(t, one.wallet)).toBe(1_000_000n);
});

test('a treasury that holds too little pays what it can, the rest waits whole, and is paid when it is filled up', async () => {
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
  await eventually(async () => expect((await t.chain.connection.getSignatureStatus(signature)).value?.confirmationStatus).toBe('finalized'));

  const all = [1_000n, 700n, 400n].map((amount) => debt({ amount }));
  const wallets = all.map(({ wallet }) => wallet);
  const owed = await oweAll(t, all);
  await eventually(async () => {
    const rows = await storedPayments(t, owed);
    expect(rows.filter(({ state }) => state === 'completed').length).toBeGreaterThan(0);
    expect(rows.filter(({ reason }) => reason === 'waits until the treasury holds enough').length).toBeGreaterThan(0);
  });
  const paid = await balancesOf(t, wallets);
  expect(paid.every((amount, i) => amount === 0n || amount === all[i]?.amount)).toBe(true);
  expect((await storedPayments(t, owed)).filter(({ state }) => state === 'manual')).toEqual([]);

  await t.chain.send([mintTo(usdcMint.publicKey, source, mintAuthority.publicKey, 10_000_000_000n)], [mintAuthority]);
  await eventually(async () => expect(await balanceOf(t, treasury.publicKey.toBase58())).toBeGreaterThan(10_000_000_000n));
  await lookAgain(t, owed);
  await untilPaid(t, owed);
  expect(await balancesOf(t, wallets)).toEqual(all.map(({ amount }) => amount));
});

test('while the treasury’s own account is frozen everybody waits, and nobody is set aside for it', async () => {
  const { usdcMint, treasury } = t.chain.keys;
  const source = associatedTokenAddress(treasury.publicKey, usdcMint.publicKey);
  await t.chain.control.freeze(source.toBase58());
  const owed = await oweAll(t, [debt(), debt()]);
  await eventually(async () => {
    expect((await storedPayments(t, owed)).map(({ state, reason }) => [state, reason])).toEqual([
      ['pending', 'waits until the treasury can pay'],
      ['pending', 'waits until the treasury can pay'],
    ]);
  });
  await t.chain.control.freeze(source.toBase58(), false);
  await lookAgain(t, owed);
  await untilPaid(t, owed);
});

test('no more leaves in a day than its limit: the rest waits for the next one', async () => {
  const all = [600n, 500n, 300n].map((amount) => debt({ amount, currency: 'reward' }));
  const owed = await oweAll(t, all);
  const LIMIT = 'waits for the next day: the daily limit is reached';
  let waiting: string[] = [];
  await eventually(async () => {
    const rows = await storedPayments(t, owed);
    waiting = rows.filter(({ state, reason }) => state === 'pending' && reason === LIMIT).map(({ id }) => id);
    expect(rows.filter(({ state }) => state === 'completed').length + waiting.length).toBe(3);
  });
  expect(waiting.length).toBeGreaterThan(0);
  const wallets = all.map(({ wallet }) => wallet);
  const paid = (await balancesOf(t, wallets, 'reward')).reduce((sum, amount) => sum + amount, 0n);
  expect(paid <= 1_000n && paid > 0n).toBe(true);
  await t.clock.set(new Date(t.clock.now().getTime() + 86_400_000));
  await lookAgain(t, owed);
  await untilPaid(t, owed);
  expect(await balancesOf(t, wallets, 'reward')).toEqual(all.map(({ amount }) => amount));
});
