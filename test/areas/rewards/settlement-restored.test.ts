import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { postSettledOffChain } from '#areas/rewards/routes/settlement.ts';
import { openEpoch as openEpochInstruction, vaultAddress } from '#platform/solana/distributor/index.ts';
import type { Instruction, Signer } from '#platform/solana/primitives.ts';
import { pause, resume } from '#platform/solana/submission/index.ts';
import { associatedTokenAddress, createAssociatedTokenAccount, decodeTokenAccount, transferChecked } from '#platform/solana/tokens.ts';
import { sql } from '#test/support/areas/boards.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { adminOf } from '#test/support/http/client.ts';
import { accountOf, insertComputedEpoch, type RewardsTest, startRewardsTest, type TestEpoch, untilEpoch } from '#test/support/solana/claims.ts';
import { createWallet } from '#test/support/wallet.ts';

// The database of these tests has forgotten the transaction that opened an epoch, as a database does that was restored.
let t: RewardsTest;
beforeAll(async () => {
  t = await startRewardsTest();
});
afterEach(() => t.chain.control.clear());
afterAll(() => t.close());

const leaves = (...amounts: bigint[]) => amounts.map((amount) => [createWallet().address, amount] as const);
const settle = (epoch: number, root?: string) => adminOf(t).call(postSettledOffChain, { body: { epochs: [epoch], ...(root ? { root } : {}) } });
const treasury = async () => {
  const key = associatedTokenAddress(t.chain.keys.treasury.publicKey, t.chain.keys.rewardMint.publicKey);
  return decodeTokenAccount(await t.chain.connection.getAccountInfo(key, 'finalized'))?.amount ?? 0n;
};
const settledEvents = async (epoch: number) =>
  (await sql<{ payload: unknown }>(t.app, `select payload from outbox where type = 'epoch_settled' and (payload->>'epoch')::int = $1`, [epoch])).map(
    ({ payload }) => payload,
  );
const accountRow = async (epoch: number) =>
  (
    await sql<{ closed: boolean; other: string | null }>(
      t.app,
      `select closed_at is not null as closed, encode(other_root, 'hex') as other from epoch_accounts where epoch = $1`,
      [epoch],
    )
  )[0];

/** Inserts a computed epoch while roots are paused, so that the service does not open it. */
async function insertEpoch(epoch: number): Promise<TestEpoch> {
  await t.app.tx((tx) => pause(tx, 'roots', 'test'));
  return await insertComputedEpoch(t.app, epoch, leaves(30n, 40n));
}

/** Signs and sends the transaction that opens an epoch with the keys of the service. */
async function sendOpening(epoch: number, { root, total, leaves: count }: { root: Buffer; total: bigint; leaves: number }): Promise<string> {
  const { program, epochAuthority, treasury: owner, feePayer, rewardMint } = t.chain.keys;
  const mint = rewardMint.publicKey;
  const vault = vaultAddress(accountOf(t, epoch), mint);
  const from = associatedTokenAddress(owner.publicKey, mint);
  return await send(
    [
      createAssociatedTokenAccount(feePayer.publicKey, accountOf(t, epoch), mint),
      transferChecked({ from, to: vault, owner: owner.publicKey, mint, decimals: 6, amount: total }),
      openEpochInstruction({
        program: program.publicKey,
        payer: feePayer.publicKey,
        authority: epochAuthority.publicKey,
        mint,
        epoch: BigInt(epoch),
        root,
        total,
        leaves: count,
        expiry: Math.floor(t.clock.now().getTime() / 1_000) + 5 * 86_400,
        refundOwner: owner.publicKey,
      }),
    ],
    [feePayer, owner, epochAuthority],
  );
}
async function send(instructions: readonly Instruction[], signers: readonly [Signer, ...Signer[]]): Promise<string> {
  return await t.chain.send(instructions, signers);
}
const untilOpen = (epoch: number) =>
  retryUntilPass(async () => expect(await t.chain.connection.getAccountInfo(accountOf(t, epoch), 'finalized')).not.toBeNull());

test('an epoch whose forgotten root lands after the settlement request is settled on the chain', async () => {
  const { root, total } = await insertEpoch(700);
  const before = await treasury();
  await t.chain.control.fault({ kind: 'late', slots: 100, times: 1 });
  await sendOpening(700, { root: Buffer.from(root, 'hex'), total, leaves: 2 });
  expect(await settle(700)).toMatchObject({ status: 202, body: { epochs: [{ status: 'settling' }] } });
  await untilEpoch(t, 700, 'settled');
  await retryUntilPass(async () => expect(await accountRow(700)).toEqual({ closed: true, other: null }));
  expect(await treasury()).toBe(before);
  expect(await settledEvents(700)).toEqual([{ epoch: 700, claimed: '0', total: '70' }]);
  await t.app.tx((tx) => resume(tx, 'roots'));
}, 30_000);

test('an epoch that is open with another root is settled only when the request names this root', async () => {
  await insertEpoch(701);
  const before = await treasury();
  const other = 'ab'.repeat(32);
  await sendOpening(701, { root: Buffer.from(other, 'hex'), total: 55n, leaves: 3 });
  await untilOpen(701);
  const refused = await settle(701);
  expect([refused.status, refused.body]).toEqual([
    409,
    {
      error: `epoch 701 is open on the chain with another root than in the database; to settle the open root, request the settlement with "root": "${other}"`,
    },
  ]);
  expect(await settle(701, 'cd'.repeat(32))).toMatchObject({ status: 409 });
  expect(await sql(t.app, 'select settle_requested_at from epochs where epoch = 701')).toEqual([{ settle_requested_at: null }]);

  expect(await settle(701, other)).toMatchObject({ status: 202 });
  await untilEpoch(t, 701, 'settled');
  await retryUntilPass(async () => expect(await accountRow(701)).toEqual({ closed: true, other }));
  expect(await treasury()).toBe(before);
  expect(await settledEvents(701)).toEqual([{ epoch: 701, claimed: '0', total: '70' }]);
  expect(await settle(701)).toMatchObject({ status: 200 });
  await t.app.tx((tx) => resume(tx, 'roots'));
}, 30_000);

test('another root that lands after the settlement request keeps the epoch unsettled until an operator names it', async () => {
  await insertEpoch(702);
  const other = 'ef'.repeat(32);
  await t.chain.control.fault({ kind: 'late', slots: 60, times: 1 });
  await sendOpening(702, { root: Buffer.from(other, 'hex'), total: 12n, leaves: 1 });
  expect(await settle(702)).toMatchObject({ status: 202 });
  await retryUntilPass(async () =>
    expect(await sql(t.app, `select error->>'message' as message from chain_transactions where kind = 'epoch-settle' and subject = '702'`)).toEqual([
      { message: expect.stringContaining(`"root": "${other}"`) },
    ]),
  );
  expect(await settle(702)).toMatchObject({ status: 409 });
  expect(await settle(702, other)).toMatchObject({ status: 202 });
  await untilEpoch(t, 702, 'settled');
  await t.app.tx((tx) => resume(tx, 'roots'));
}, 40_000);

test('an epoch that is settled in the database but open on the chain is settled there by another request', async () => {
  const { root, total } = await insertEpoch(704);
  expect(await settle(704)).toMatchObject({ status: 202 });
  await untilEpoch(t, 704, 'settled');
  const before = await treasury();
  await sendOpening(704, { root: Buffer.from(root, 'hex'), total, leaves: 2 });
  await untilOpen(704);
  expect(await settle(704)).toMatchObject({ status: 202 });
  await retryUntilPass(async () => expect(await accountRow(704)).toEqual({ closed: true, other: null }));
  expect(await treasury()).toBe(before);
  expect(await settledEvents(704)).toHaveLength(1);
  expect(await settle(704)).toMatchObject({ status: 200 });
}, 30_000);

test('a settlement is refused while the RPC node does not answer', async () => {
  await insertEpoch(703);
  await t.chain.control.fault({ kind: 'fail' });
  expect((await settle(703)).status).toBe(503);
  expect(await sql(t.app, 'select settle_requested_at from epochs where epoch = 703')).toEqual([{ settle_requested_at: null }]);
});
