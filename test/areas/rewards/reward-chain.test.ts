import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { statement } from '#platform/db/sql.ts';
import { programDataAddress } from '#platform/solana/deployed-program.ts';
import { decodeEpoch, openEpoch as openEpochInstruction, vaultAddress } from '#platform/solana/distributor/index.ts';
import type { Address } from '#platform/solana/primitives.ts';
import { transferLamports } from '#platform/solana/system-program.ts';
import { associatedTokenAddress, createAssociatedTokenAccount, decodeTokenAccount, transferChecked } from '#platform/solana/tokens.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { asOwner } from '#test/support/database.ts';
import {
  accountOf,
  insertComputedEpoch,
  newStranger,
  openEpoch,
  type RewardsTest,
  sendAs,
  startRewardsTest,
  untilEpoch,
} from '#test/support/solana/claims.ts';
import { createWallet } from '#test/support/wallet.ts';

let t: RewardsTest;
beforeAll(async () => {
  t = await startRewardsTest({ env: { DAILY_REWARD_LIMIT: '5000000000000000' } });
});
afterAll(() => t.close());

const leaves = (...amounts: bigint[]) => amounts.map((amount) => [createWallet().address, amount] as const);
const mint = () => t.chain.keys.rewardMint.publicKey;
const vaultOf = (epoch: number) => vaultAddress(accountOf(t, epoch), mint());
const onChain = async (epoch: number) =>
  decodeEpoch(t.chain.keys.program.publicKey, await t.chain.connection.getAccountInfo(accountOf(t, epoch), 'finalized'));
const held = async (account: Address) => decodeTokenAccount(await t.chain.connection.getAccountInfo(account, 'confirmed'))?.amount ?? 0n;
const treasury = () => associatedTokenAddress(t.chain.keys.treasury.publicKey, mint());

interface StoredEpoch {
  state: string;
  commit_signature: string | null;
  expires_at: string;
  expiry: number;
}
const selectEpoch = statement<StoredEpoch>(
  'test_committed_epoch',
  `select state, commit_signature, to_char(expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as expires_at,
     extract(epoch from expires_at)::float8 as expiry from epochs where epoch = $1`,
);
const stored = async (epoch: number) => (await t.app.db.query(selectEpoch, [epoch]))[0];
const selectEvents = statement<{ payload: Record<string, unknown> }>(
  'test_epoch_events',
  `select payload from outbox where type = $2 and (payload->>'epoch')::int = $1 order by id`,
);
const selectRoot = statement<{ state: string; error: { message: string } | null }>(
  'test_root_transaction',
  `select state, error from chain_transactions where kind = 'epoch-root' and subject = $1`,
);
const root = async (epoch: number) => (await t.app.db.query(selectRoot, [String(epoch)]))[0];

test('a computed epoch is opened on the chain, and its vault receives exactly its total', async () => {
  const before = await held(treasury());
  const epoch = await openEpoch(t, 300, leaves(10n, 20n, 31n));
  const account = await onChain(300);
  expect(account).toMatchObject({ state: 'open', epoch: 300n, leaves: 3, total: 61n, claimed: 0n });
  expect(account?.root.toString('hex')).toBe(epoch.root);
  expect(await held(vaultOf(300))).toBe(61n);
  expect(await held(treasury())).toBe(before - 61n);

  const row = await stored(300);
  expect(row?.expiry).toBe(account?.expiry);
  const days = ((account?.expiry ?? 0) * 1_000 - t.clock.now().getTime()) / 86_400_000;
  expect(days).toBeGreaterThan(90);
  expect(days).toBeLessThan(90.2);
  const landed = await t.chain.connection.getTransaction(row?.commit_signature ?? '', { commitment: 'finalized', maxSupportedTransactionVersion: 1 });
  expect(landed?.meta?.err).toBeNull();
  const events = await t.app.db.query(selectEvents, [300, 'epoch_committed']);
  expect(events.map(({ payload }) => payload)).toEqual([
    {
      epoch: 300,
      root: epoch.root,
      total: '61',
      leaves: 3,
      signature: row?.commit_signature,
      expiresAt: new Date(row?.expires_at ?? '').toISOString(),
    },
  ]);
});

test('a stranger who opens the vault, pays into it, or sends lamports to the epoch’s address does not prevent the opening', async () => {
  const stranger = await newStranger(t);
  const donor = await t.chain.fundWallet({ lamports: 1_000_000_000, reward: 500n });
  const vault = vaultOf(301);
  await sendAs(t, stranger, [
    createAssociatedTokenAccount(stranger.publicKey, accountOf(t, 301), mint()),
    transferLamports(stranger.publicKey, accountOf(t, 301), 1_500_000),
  ]);
  const from = associatedTokenAddress(donor.publicKey, mint());
  await sendAs(t, donor, [transferChecked({ from, to: vault, owner: donor.publicKey, mint: mint(), decimals: 6, amount: 500n })]);
  const before = await held(treasury());
  await openEpoch(t, 301, leaves(100n, 200n));
  expect(await held(vault)).toBe(800n);
  expect(await held(treasury())).toBe(before - 300n);
  expect(await onChain(301)).toMatchObject({ state: 'open', total: 300n });
});

const forgetRoot = statement(
  'test_forget_root',
  `with gone as (delete from chain_attempts a using chain_transactions t where a.transaction_id = t.id and t.kind = 'epoch-root' and t.subject = $1::int::text),
   epoch as (update epochs set state = 'computed', commit_signature = null, committed_at = null, expires_at = null where epoch = $1::int),
   account as (delete from epoch_accounts where epoch = $1::int)
   update chain_transactions set state = 'queued', attempts = 0, signature = null, next_at = app_now() where kind = 'epoch-root' and subject = $1::int::text`,
);

test('a root that is already on the chain is recognized, and its total is not paid again', async () => {
  const stranger = await newStranger(t);
  // The oldest transaction that names the address is a stranger's.
  await sendAs(t, stranger, [transferLamports(stranger.publicKey, accountOf(t, 302), 1_000_000)]);
  await openEpoch(t, 302, leaves(40n));
  const before = await stored(302);
  const money = await held(treasury());
  await asOwner(t.app, (tx) => tx.query(forgetRoot, [302]));
  await untilEpoch(t, 302, 'committed');
  expect(await stored(302)).toEqual(before);
  expect(await held(treasury())).toBe(money);
});

test('when an epoch account has another root on the chain, its transaction becomes manual', async () => {
  const { program, epochAuthority, treasury: owner } = t.chain.keys;
  const account = accountOf(t, 303);
  await sendAs(t, t.chain.keys.mintAuthority, [createAssociatedTokenAccount(t.chain.keys.mintAuthority.publicKey, account, mint())]);
  await t.chain.localnet.fund(account, { reward: 77n });
  const opening = openEpochInstruction({
    program: program.publicKey,
    payer: epochAuthority.publicKey,
    authority: epochAuthority.publicKey,
    mint: mint(),
    epoch: 303n,
    root: Buffer.alloc(32, 7),
    total: 77n,
    leaves: 1,
    expiry: Math.floor(t.clock.now().getTime() / 1_000) + 5 * 86_400,
    refundOwner: owner.publicKey,
  });
  await sendAs(t, epochAuthority, [opening]);
  await insertComputedEpoch(t.app, 303, leaves(77n));
  await retryUntilPass(async () => expect(await root(303)).toMatchObject({ state: 'manual' }));
  expect((await root(303))?.error?.message).toMatch(/another root/);
  expect((await stored(303))?.state).toBe('computed');
});

test('an epoch waits while the treasury holds less than its total', async () => {
  const total = (await held(treasury())) + 5n;
  await insertComputedEpoch(t.app, 304, leaves(total));
  await retryUntilPass(async () => expect((await root(304))?.error?.message).toMatch(/the treasury holds/));
  expect(await onChain(304)).toBeNull();
  await t.chain.localnet.fund(t.chain.keys.treasury.publicKey, { reward: 5n });
  await t.app.tx((tx) => tx.query(hurry));
  await untilEpoch(t, 304, 'committed');
  expect(await held(vaultOf(304))).toBe(total);
  await t.chain.localnet.fund(t.chain.keys.treasury.publicKey, { reward: 1_000_000n });
});
const hurry = statement('test_hurry_roots', `update chain_transactions set next_at = app_now() where state = 'queued'`);

test('no epoch is opened while the program on the chain differs from distributor.so', async () => {
  const other = await startRewardsTest();
  try {
    const address = programDataAddress(other.chain.keys.program.publicKey);
    const account = await other.chain.connection.getAccountInfo(address, 'finalized');
    if (!account) throw new Error('the program data account does not exist');
    const write = (data: Buffer) =>
      other.chain.control.setAccounts([
        { address: address.toBase58(), account: { lamports: account.lamports, owner: account.owner.toBase58(), data: data.toString('base64') } },
      ]);
    const changed = Buffer.from(account.data);
    changed.writeUInt8(changed.readUInt8(changed.length - 100) ^ 1, changed.length - 100);
    await write(changed);
    await other.chain.control.advance(40);
    await insertComputedEpoch(other.app, 305, leaves(9n));
    const failing = async () => (await other.app.db.query(selectRoot, ['305']))[0]?.error?.message;
    await retryUntilPass(async () => expect(await failing()).toMatch(/differs from distributor\.so/));
    await write(account.data);
    await other.chain.control.advance(40);
    await other.app.tx((tx) => tx.query(hurry));
    await untilEpoch(other, 305, 'committed');
  } finally {
    await other.close();
  }
});

test('a root is put on the chain once under each cluster fault', async () => {
  const { control } = t.chain;
  const faults: Parameters<typeof control.fault>[0][] = [
    { kind: 'drop', times: 1 },
    { kind: 'loseReply', times: 1, methods: ['sendTransaction'] },
    { kind: 'late', times: 1, slots: 60 },
    { kind: 'late', times: 1, last: true },
    { kind: 'fork', times: 1, slots: 4 },
    { kind: 'fail', times: 2 },
    { kind: 'rateLimit', times: 2 },
    { kind: 'cut', times: 2 },
  ];
  const before = await held(treasury());
  for (const [i, fault] of faults.entries()) {
    await control.fault(fault);
    await openEpoch(t, 310 + i, leaves(100n, 11n));
    expect(await onChain(310 + i)).toMatchObject({ state: 'open', total: 111n });
    expect(await held(vaultOf(310 + i))).toBe(111n);
    await control.clear();
  }
  expect(await held(treasury())).toBe(before - 111n * BigInt(faults.length));
}, 60_000);
