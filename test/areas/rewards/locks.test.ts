import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { FollowedEpoch } from '#areas/rewards/chain/epoch-accounts.ts';
import { finishEpoch } from '#areas/rewards/chain/finish.ts';
import { epochRoot } from '#areas/rewards/chain/root.ts';
import { settleOffChain, settleUnopened } from '#areas/rewards/chain/settlement.ts';
import { requestClaim } from '#areas/rewards/claims/request.ts';
import { claim } from '#areas/rewards/claims/transaction-type.ts';
import type { App } from '#platform/app.ts';
import type { EpochAccount } from '#platform/solana/distributor/index.ts';
import { parseAddress } from '#platform/solana/primitives.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { expectToWait, holdTransaction, untilBlocked } from '#test/support/locks.ts';
import { insertComputedEpoch } from '#test/support/solana/claims.ts';
import { createWallet } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t.close());

let epochs = 20_000;
/** Inserts a computed epoch with two leaves. */
const newEpoch = () =>
  insertComputedEpoch(
    t.app,
    epochs++,
    [createWallet(), createWallet()].map(({ address }) => [address, 1_000n] as const),
  );
const stateOf = async (epoch: number) => (await sql<{ state: string }>(t.app, 'select state from epochs where epoch = $1', [epoch]))[0]?.state;

/** Returns the work of storing a signed root transaction of an epoch. */
const signRoot = (epoch: number) => (app: App) =>
  app.tx(async (tx) => {
    const draft = { do: 'sign', feePayer: 'feePayer', signers: [], instructions: [] } as const;
    await epochRoot.signed?.(tx, [{ subject: String(epoch), draft, signature: '' }]);
  });

/** Returns the work of storing a settlement request for an epoch that has no account on the chain. */
const request = (epoch: number) => (app: App) => app.tx((tx) => settleOffChain(tx, [epoch], null, { openRoots: new Map(), afterHeight: 1 }));

test('a settlement off-chain waits until the root transaction that is being signed is stored', async () => {
  const { epoch } = await newEpoch();
  await expectToWait(t.app, 'lock_epochs_to_commit', signRoot(epoch), request(epoch));
});

test('a root transaction is not signed while its epoch is being settled off-chain, and not afterwards', async () => {
  const { epoch } = await newEpoch();
  const outcomes = await expectToWait(t.app, 'lock_epochs_to_settle', request(epoch), signRoot(epoch));
  expect(outcomes).toMatchObject([
    { value: [{ status: 'settling' }] },
    { reason: { message: expect.stringContaining('settled or committed already') } },
  ]);
});

test('of two settlements of one epoch that was never opened, the second waits for the first', async () => {
  const { epoch } = await newEpoch();
  await sql(t.app, 'update epochs set settle_requested_at = app_now() where epoch = $1', [epoch]);
  await expectToWait(t.app, 'select_unopened_to_settle', (app) => app.tx((tx) => settleUnopened(tx, [epoch])));
  expect(await stateOf(epoch)).toBe('settled');
});

test('of two requests for one failed claim, the second waits for the first and gets the same claim', async () => {
  const { epoch, leaves } = await newEpoch();
  const [leaf] = leaves;
  if (!leaf) throw new Error('the epoch has no leaf');
  await sql(t.app, `update epochs set state = 'committed', committed_at = app_now(), expires_at = app_now() + interval '1 day' where epoch = $1`, [
    epoch,
  ]);
  const proof = leaf.proof.map((node) => Buffer.from(node, 'hex'));
  const request = (app: App) => app.tx((tx) => requestClaim(tx, leaf.wallet, { epoch, proof }));
  const id = await request(t.app);
  await sql(t.app, `update claims set state = 'failed', reason = 'a test' where id = $1`, [id]);
  await sql(t.app, `update chain_transactions set state = 'failed' where subject = $1`, [id]);
  const outcomes = await expectToWait(t.app, 'lock_claim_of_wallet', request);
  expect(outcomes).toMatchObject([{ value: id }, { value: id }]);
  expect(await sql(t.app, 'select state from claims where id = $1', [id])).toEqual([{ state: 'queued' }]);
});

/** Inserts an epoch that is open on the chain. @returns the epoch and its row as the follower reads it */
async function newOpenEpoch() {
  const made = await newEpoch();
  await sql(
    t.app,
    `insert into epoch_accounts (epoch, program, authority, mint, address, vault, expires_at, opened_at)
     values ($1, $2, $3, $4, $5, $6, app_now() + interval '1 day', app_now())`,
    [made.epoch, ...Array.from({ length: 5 }, () => createWallet().address)],
  );
  await sql(t.app, `update epochs set state = 'committed', committed_at = app_now(), expires_at = app_now() + interval '1 day' where epoch = $1`, [
    made.epoch,
  ]);
  const [row] = await sql<FollowedEpoch>(
    t.app,
    `select a.epoch, a.program, a.authority, a.mint, a.vault, a.address, e.root, e.total::text, e.leaves, a.claimed::text, a.cursor,
       a.cursor_slot::float8 as cursor_slot, 0 as unread, false as "isOther", false as ended from epoch_accounts a join epochs e on e.epoch = a.epoch where a.epoch = $1`,
    [made.epoch],
  );
  if (!row) throw new Error('the account of the epoch is missing');
  const address = parseAddress(row.address);
  const closed: EpochAccount = {
    ...{ state: 'closed', epoch: BigInt(made.epoch), root: row.root, total: BigInt(row.total), leaves: row.leaves, claimed: 0n, expiry: 0, bump: 0 },
    ...{ authority: address, mint: address, vault: address, refund: address, refundOwner: address },
  };
  return { ...made, finish: (app: App) => finishEpoch(app, row, closed) };
}

test('a settlement off-chain waits until the end of the epoch is stored, and then settles the epoch', async () => {
  const { epoch, finish } = await newOpenEpoch();
  const outcomes = await expectToWait(t.app, 'lock_epoch_to_finish', finish, request(epoch));
  expect(outcomes).toMatchObject([{ status: 'fulfilled' }, { value: [{ epoch, status: 'settled' }] }]);
  expect(await stateOf(epoch)).toBe('settled');
});

test('the end of an epoch waits for a settlement off-chain, and then marks the epoch as settled and not as expired', async () => {
  const { epoch, finish } = await newOpenEpoch();
  const outcomes = await expectToWait(t.app, 'lock_epochs_to_settle', request(epoch), finish);
  expect(outcomes).toMatchObject([{ value: [{ epoch, status: 'settling' }] }, { status: 'fulfilled' }]);
  expect(await stateOf(epoch)).toBe('settled');
});

test('a claim that is stored as claimed while its transaction is being signed is not marked as submitted', async () => {
  const { epoch, leaves } = await newOpenEpoch();
  const [leaf] = leaves;
  if (!leaf) throw new Error('the epoch has no leaf');
  const proof = leaf.proof.map((node) => Buffer.from(node, 'hex'));
  const id = await t.app.tx((tx) => requestClaim(tx, leaf.wallet, { epoch, proof }));
  const draft = { do: 'sign', feePayer: 'feePayer', signers: [], instructions: [] } as const;
  const sign = (signature: string) => t.app.tx(async (tx) => await claim.signed?.(tx, [{ subject: id, draft, signature }]));
  await sign('first');
  expect(await sql(t.app, 'select state, signature from claims where id = $1', [id])).toEqual([{ state: 'submitted', signature: 'first' }]);
  const commit = await holdTransaction(t.app, (tx) =>
    tx.query({ text: `update claims set state = 'claimed', signature = 'another', proof = null where id = $1` }, [id]),
  );
  const second = sign('second');
  await untilBlocked(t.app, second).finally(commit);
  await expect(second).rejects.toMatchObject({ status: 409, message: 'the claim is no longer queued or submitted' });
  expect(await sql(t.app, 'select state, signature from claims where id = $1', [id])).toEqual([{ state: 'claimed', signature: 'another' }]);
});
