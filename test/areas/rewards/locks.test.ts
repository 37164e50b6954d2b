import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { epochRoot } from '#areas/rewards/chain/root.ts';
import { settleOffChain, settleUncommitted } from '#areas/rewards/chain/settlement.ts';
import { requestClaim } from '#areas/rewards/claims/request.ts';
import type { App } from '#platform/app.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { expectToWait } from '#test/support/locks.ts';
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
    await epochRoot.signed?.(tx, { subject: String(epoch), draft, signature: '' });
  });

test('a settlement off-chain waits until the root transaction that is being signed is stored', async () => {
  const { epoch } = await newEpoch();
  await expectToWait(t.app, 'lock_epochs_to_commit', signRoot(epoch), (app) => app.tx((tx) => settleOffChain(tx, [epoch])));
});

test('a root transaction is not signed while its epoch is being settled off-chain, and not afterwards', async () => {
  const { epoch } = await newEpoch();
  const outcomes = await expectToWait(t.app, 'lock_epochs_to_settle', (app) => app.tx((tx) => settleOffChain(tx, [epoch])), signRoot(epoch));
  expect(outcomes).toMatchObject([
    { value: [{ status: 'settled' }] },
    { reason: { message: expect.stringContaining('settled or committed already') } },
  ]);
});

test('of two settlements of one epoch after its failed root transaction, the second waits for the first', async () => {
  const { epoch } = await newEpoch();
  await sql(t.app, 'update epochs set settle_requested_at = app_now() where epoch = $1', [epoch]);
  await expectToWait(t.app, 'select_uncommitted_to_settle', (app) => app.tx((tx) => settleUncommitted(tx, [epoch])));
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
  const outcomes = await expectToWait(t.app, 'lock_claim', request);
  expect(outcomes).toMatchObject([{ value: id }, { value: id }]);
  expect(await sql(t.app, 'select state from claims where id = $1', [id])).toEqual([{ state: 'queued' }]);
});
