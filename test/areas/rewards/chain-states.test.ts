import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { readObligations, readOutflowMarker } from '#areas/lottery';
import { createPayments } from '#areas/payouts';
import { candidateAddresses } from '#areas/rewards/chain/candidates.ts';
import { epochClose, epochPageClose, pageSubject } from '#areas/rewards/chain/end.ts';
import { epochRoot } from '#areas/rewards/chain/root.ts';
import { epochSettle } from '#areas/rewards/chain/settle.ts';
import { compose as composeClaim } from '#areas/rewards/claims/compose.ts';
import type { App } from '#platform/app.ts';
import { programDataAddress, UPGRADEABLE_LOADER } from '#platform/solana/deployed-program.ts';
import { decodeEpoch, EPOCH_BYTES, readDistributor } from '#platform/solana/distributor/index.ts';
import { type FetchedAccount, newSigner, parseAddress } from '#platform/solana/primitives.ts';
import { signAndSend, submit, type TransactionType } from '#platform/solana/submission/index.ts';
import { associatedTokenAddress, createAssociatedTokenAccount, decodeTokenAccount, TOKEN_ACCOUNT_BYTES } from '#platform/solana/tokens.ts';
import { sql } from '#test/support/areas/boards.ts';
import { expectToWait } from '#test/support/locks.ts';
import { accountOf, insertComputedEpoch, newStranger, type RewardsTest, sendAs, startRewardsTest } from '#test/support/solana/claims.ts';
import { runOnce, runUntil } from '#test/support/solana/submission.ts';
import { createWallet } from '#test/support/wallet.ts';

// No workers run, so each test decides when a transaction is signed and which blocks exist.
let t: RewardsTest;
beforeAll(async () => {
  t = await startRewardsTest({ workers: false, env: { DAILY_REWARD_LIMIT: '1000000000000000000' } });
});
afterEach(() => t.chain.control.resume());
afterAll(() => t.close());

const insertEpoch = (epoch: number, total: bigint) => insertComputedEpoch(t.app, epoch, [[createWallet().address, total]]);
const account = async (epoch: number) =>
  decodeEpoch(t.chain.keys.program.publicKey, await t.chain.connection.getAccountInfo(accountOf(t, epoch), 'finalized'));
const idOf = async (type: TransactionType, subject: string) =>
  (await sql<{ id: string }>(t.app, 'select id::text from chain_transactions where kind = $1 and subject = $2', [type.name, subject]))[0]?.id ?? '';
const stateOf = async (type: TransactionType, subject: string) =>
  (
    await sql<{ state: string; message: string | null }>(
      t.app,
      `select state, error->>'message' as message from chain_transactions where kind = $1 and subject = $2`,
      [type.name, subject],
    )
  )[0];
const commit = (epoch: number) => runUntil(t.app, epochRoot, [String(epoch)], ['finalized']);

/** Signs and sends a transaction while the cluster is paused, and adds blocks until the transaction is confirmed but not finalized. */
async function confirmOnly(type: TransactionType, subject: string): Promise<void> {
  await t.chain.control.pause();
  await runOnce(t.app, new Map([[type.name, type]]), [subject]);
  await t.chain.control.advance(3);
}
/** Adds blocks until all transactions are finalized. */
const finalize = () => t.chain.control.advance(10);

test('the program on the chain is accepted only if a known loader holds exactly the bytes of distributor.so', async () => {
  const { node, programId } = t.app.chain;
  const original = node.accounts;
  const [{ account: program }, { account: data }] = await Promise.all([
    node.account(programId, 'finalized'),
    node.account(programDataAddress(programId), 'finalized'),
  ]);
  if (!program || !data) throw new Error('the program is not deployed');
  const bytes = Buffer.from(data.data).subarray(45);
  const changed = Buffer.from(bytes);
  changed.writeUInt8(changed.readUInt8(1_000) ^ 1, 1_000);
  const finalLoader = parseAddress('BPFLoader2111111111111111111111111111111111');
  const accepts = async (atProgram: FetchedAccount, atData: FetchedAccount) => {
    node.accounts = async () => ({ slot: 1, accounts: [atProgram, atData] });
    return (await readDistributor(node, programId, null)).isOurs;
  };
  try {
    expect(await accepts(null, data)).toBe(false);
    expect(await accepts(program, null)).toBe(false);
    expect(await accepts(program, { ...data, data: Buffer.concat([Buffer.from(data.data).subarray(0, 45), changed]) })).toBe(false);
    expect(await accepts({ ...program, owner: finalLoader, data: changed }, data)).toBe(false);
    // The bytes of the program, but in an account that the loader does not execute.
    expect(await accepts({ ...data, owner: UPGRADEABLE_LOADER }, data)).toBe(false);
    expect(await accepts({ ...program, owner: finalLoader, data: bytes }, null)).toBe(true);
  } finally {
    node.accounts = original;
  }
});

test('an epoch that is opened, settled or closed at the commitment confirmed waits until this is finalized', async () => {
  const wait = (reason: string) => ({ do: 'wait', ms: 1_000, reason });
  await insertEpoch(700, 10n);
  await confirmOnly(epochRoot, '700');
  expect(await epochRoot.compose(t.app, '700')).toEqual(wait('the root is on the chain but not finalized yet'));
  expect(await epochSettle.compose(t.app, '700')).toEqual(wait('the root is not finalized yet'));
  expect(await epochClose.compose(t.app, '700')).toEqual(wait('the root is not finalized yet'));
  await finalize();
  expect(await epochRoot.compose(t.app, '700')).toMatchObject({ do: 'done', signature: expect.any(String), slot: expect.any(Number) });
  await t.chain.control.resume();
  await commit(700);

  await t.app.tx((tx) => submit(tx, epochSettle, ['700']));
  await confirmOnly(epochSettle, '700');
  expect(await epochSettle.compose(t.app, '700')).toEqual(wait('the settlement is not finalized yet'));
  await finalize();
  expect(await epochSettle.compose(t.app, '700')).toEqual({ do: 'done', signature: null, slot: null });

  await t.app.tx((tx) => submit(tx, epochClose, ['700']));
  await confirmOnly(epochClose, '700');
  expect(await epochClose.compose(t.app, '700')).toEqual(wait('the closing of the epoch is not finalized yet'));
  expect(await epochPageClose.compose(t.app, pageSubject(700, 0))).toEqual(wait('the closing of the epoch is not finalized yet'));
  await finalize();
  expect(await epochClose.compose(t.app, '700')).toEqual({ do: 'done', signature: null, slot: null });
  // No reward of the epoch was claimed, so the bitmap page does not exist.
  expect(await epochPageClose.compose(t.app, pageSubject(700, 0))).toEqual({ do: 'done', signature: null, slot: null });
});

test('the database stores the expiry that an epoch has on the chain, also when the days until expiry were changed', async () => {
  await insertEpoch(701, 10n);
  await insertComputedEpoch(t.app, 702, [[createWallet().address, 10n]], 30);
  await epochRoot.compose(t.app, '702');
  const expiryOf = async (epoch: number) =>
    (await sql<{ at: number }>(t.app, 'select extract(epoch from expires_at)::float8 as at from epoch_accounts where epoch = $1', [epoch]))[0]?.at;
  const other = await expiryOf(702);
  await commit(701);
  const onChain = (await account(701))?.expiry;
  expect(await expiryOf(701)).toBe(onChain);
  // Forgets the opening, as a restored backup does. Another expiry would be computed for the epoch.
  await sql(t.app, 'delete from chain_attempts a using chain_transactions c where a.transaction_id = c.id and c.subject = $1', ['701']);
  await sql(t.app, `update chain_transactions set state = 'queued', attempts = 0, signature = null, next_at = app_now() where subject = '701'`);
  await sql(t.app, 'delete from epoch_accounts where epoch = 701');
  await sql(
    t.app,
    `update epochs set state = 'computed', commit_signature = null, committed_at = null, expires_at = null, expiry_days = 5 where epoch = 701`,
  );
  await commit(701);
  expect(await sql(t.app, 'select state, extract(epoch from expires_at)::float8 as at from epochs where epoch = 701')).toEqual([
    { state: 'committed', at: onChain },
  ]);
  expect(await expiryOf(701)).toBe(onChain);
  expect(await expiryOf(702)).toBe(other);
});

test('the addresses of an epoch follow from the key of this process, or, without the key, from the one that the database records', async () => {
  const authorityOf = async (app: App) => (await candidateAddresses(app, [706])).get(706)?.map(({ authority }) => authority.toBase58());
  const own = t.chain.keys.epochAuthority.publicKey.toBase58();
  const recorded = createWallet().address;
  const [record] = await sql<{ keys: object }>(t.app, 'select keys from chain_record');
  await sql(t.app, `update chain_record set keys = jsonb_build_object('epochAuthority', $1::text)`, [recorded]);
  const { chain } = t.app.config;
  const withoutKey = { ...t.app, config: { ...t.app.config, chain: { ...chain, secrets: { ...chain.secrets, epochAuthority: null } } } };
  expect([await authorityOf(t.app), await authorityOf(withoutKey)]).toEqual([[own], [recorded]]);
  await sql(t.app, 'update chain_record set keys = $1::jsonb', [record && JSON.stringify(record.keys)]);
});

test('the rent of the vault counts for a root only while the vault does not exist', async () => {
  const [epochRent, vaultRent] = await Promise.all(
    [EPOCH_BYTES, TOKEN_ACCOUNT_BYTES].map(async (bytes) => BigInt(await t.chain.connection.getMinimumBalanceForRentExemption(bytes))),
  );
  await insertEpoch(706, 10n);
  const rentOf = async () => {
    const draft = await epochRoot.compose(t.app, '706');
    return draft.do === 'sign' ? draft.spends?.find(({ asset }) => asset === 'sol')?.amount : draft;
  };
  expect(await rentOf()).toBe((epochRent ?? 0n) + (vaultRent ?? 0n));
  const stranger = await newStranger(t);
  await sendAs(t, stranger, [createAssociatedTokenAccount(stranger.publicKey, accountOf(t, 706), t.chain.keys.rewardMint.publicKey)]);
  expect(await rentOf()).toBe(epochRent);
});

test('a root is not composed again when another process has stored that its epoch is open', async () => {
  await sql(t.app, 'update epoch_accounts set opened_at = app_now() where epoch = 706');
  await expect(epochRoot.compose(t.app, '706')).rejects.toMatchObject({ status: 409, message: 'epoch 706 is open on the chain already' });
});

test('an epoch that only another key can settle is left to an operator', async () => {
  await insertEpoch(707, 10n);
  await commit(707);
  await sql(t.app, 'update epochs set settle_requested_at = app_now(), settle_after_height = 1 where epoch = 707');
  const other = newSigner();
  const rotated: App = { ...t.app, chain: Object.create(t.app.chain, { key: { value: () => other } }) };
  const authority = t.chain.keys.epochAuthority.publicKey.toBase58();
  expect(await epochSettle.compose(rotated, '707')).toEqual({
    do: 'manual',
    reason: `only the key ${authority} can settle this epoch, but epochAuthority is another key`,
  });
  expect(await epochSettle.compose(t.app, '707')).toMatchObject({ do: 'sign', signers: ['epochAuthority'] });
});

test('a claim of an epoch whose settlement is requested fails', async () => {
  const rows = await sql<{ id: string }>(
    t.app,
    `insert into claims (epoch, index, wallet, amount, state, proof) select epoch, index, wallet, amount, 'queued', '' from reward_leaves where epoch = 707
     returning id::text`,
  );
  expect(await composeClaim(t.app, rows[0]?.id ?? '')).toMatchObject({ do: 'fail', error: { message: 'the epoch is settled off-chain' } });
});

test('a forgotten epoch is not settled while its root is in flight, or while one of the providers shows its account', async () => {
  await insertEpoch(708, 10n);
  await t.chain.control.pause();
  await runOnce(t.app, new Map([[epochRoot.name, epochRoot]]), ['708']);
  await sql(t.app, 'update epochs set settle_requested_at = app_now(), settle_after_height = 0 where epoch = 708');
  expect(await epochSettle.compose(t.app, '708')).toMatchObject({ do: 'wait', reason: 'the root transaction of the epoch is in flight' });
  await finalize();
  await sql(t.app, 'delete from chain_attempts a using chain_transactions c where a.transaction_id = c.id and c.subject = $1', ['708']);
  await sql(t.app, `update chain_transactions set state = 'failed' where kind = 'epoch-root' and subject = '708'`);
  await sql(t.app, 'delete from epoch_accounts where epoch = 708');
  await t.chain.control.lag(60);
  expect(await epochSettle.compose(t.app, '708')).toMatchObject({ do: 'wait', reason: 'the root is not finalized on every RPC node yet' });
  await t.chain.control.clear();
});

test('the treasury’s tokens are checked again when a root is signed, because a payment may have reserved them since', async () => {
  const held = await treasuryTokens();
  await insertEpoch(703, held);
  const draft = await epochRoot.compose(t.app, '703');
  if (draft.do !== 'sign') throw new Error(JSON.stringify(draft));
  const sign = (app: App) => app.tx(async (tx) => await epochRoot.signed?.(tx, [{ subject: '703', signature: 'test', draft }]));
  await sign(t.app);
  const request = { wallet: createWallet().address, currency: 'reward', amount: 1n, cause: { kind: 'test', id: 'a-payment' } } as const;
  await t.app.tx((tx) => createPayments(t.app, tx, [request]));
  await expect(sign(t.app)).rejects.toMatchObject({
    status: 409,
    message: 'the tokens for epoch 703 were reserved for a round or payment at the same time',
  });
});

test('of two epochs that need the same tokens of the treasury, one is signed and the other one waits', async () => {
  await t.chain.control.pause();
  const free = (await treasuryTokens()) - (await readObligations(t.app, t.app.db, 'reward', await readOutflowMarker(t.app)));
  await insertEpoch(704, free);
  await insertEpoch(705, 1n);
  const types = new Map([[epochRoot.name, epochRoot]]);
  const sign = (id: string) => (app: App) => signAndSend(app, types, id);
  const [first, second] = [await idOf(epochRoot, '704'), await idOf(epochRoot, '705')];
  await expectToWait(t.app, 'lock_treasury', sign(first), sign(second));
  expect(await stateOf(epochRoot, '704')).toMatchObject({ state: 'live' });
  expect(await stateOf(epochRoot, '705')).toMatchObject({
    state: 'queued',
    message: 'the tokens for epoch 705 were reserved for a round or payment at the same time',
  });
});

async function treasuryTokens(): Promise<bigint> {
  const from = associatedTokenAddress(t.chain.keys.treasury.publicKey, t.chain.keys.rewardMint.publicKey);
  return decodeTokenAccount(await t.chain.connection.getAccountInfo(from, 'confirmed'))?.amount ?? 0n;
}
