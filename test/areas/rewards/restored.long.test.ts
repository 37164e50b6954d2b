import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { getChain, postAcceptKeys } from '#areas/rewards/restores/routes.ts';
import { postTrigger } from '#areas/rewards/routes/compute.ts';
import { postSettledOffChain } from '#areas/rewards/routes/settlement.ts';
import { reconcilePayouts } from '#jobs/payouts.ts';
import { newSigner } from '#platform/solana/primitives.ts';
import { associatedTokenAddress, decodeTokenAccount } from '#platform/solana/tokens.ts';
import { startWorker } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { adminOf } from '#test/support/http/client.ts';
import { accountOf, insertComputedEpoch, openEpoch, type RewardsTest, startRewardsTest, untilEpoch } from '#test/support/solana/claims.ts';
import { createWallet } from '#test/support/wallet.ts';

// Walks the drills "After a restore" of docs/operations.md.
let t: RewardsTest;
let worker: Awaited<ReturnType<typeof startWorker>> | undefined;
let day = 0;
beforeAll(async () => {
  t = await startRewardsTest({ workers: false });
  day = Math.floor(t.clock.now().getTime() / 86_400_000) - 300;
});
afterEach(stop);
afterAll(() => t.close());

const leaves = (...amounts: bigint[]) => amounts.map((amount) => [createWallet().address, amount] as const);
const admin = () => adminOf(t);

async function start(env: Record<string, string> = {}): Promise<void> {
  worker = await startWorker({ ...t.env, ...env }, t.clock);
}
async function stop(): Promise<void> {
  await worker?.close();
  worker = undefined;
}

/** Makes the database look as if its backup was restored, on a server with a newer timeline. Precondition: no worker is running. */
async function restore(): Promise<void> {
  await sql(t.app, 'update chain_record set timeline = timeline - 1');
  for (const queue of t.app.queues.all.values()) await queue.obliterate({ force: true });
}

/** Forgets the transaction that opened an epoch, as a backup does that was made before it. `root` is the root of the epoch in the backup, hex. */
async function forgetRoot(epoch: number, root?: string): Promise<void> {
  await sql(
    t.app,
    `delete from chain_attempts a using chain_transactions t where a.transaction_id = t.id and t.kind = 'epoch-root' and t.subject = $1`,
    [String(epoch)],
  );
  await sql(t.app, 'delete from epoch_accounts where epoch = $1', [epoch]);
  await sql(
    t.app,
    `update epochs set state = 'computed', commit_signature = null, committed_at = null, expires_at = null, root = coalesce($2, root) where epoch = $1`,
    [epoch, root === undefined ? null : Buffer.from(root, 'hex')],
  );
  await sql(
    t.app,
    `update chain_transactions set state = 'queued', attempts = 0, signature = null, next_at = app_now() where kind = 'epoch-root' and subject = $1`,
    [String(epoch)],
  );
}

const chainView = async () => (await admin().ok(getChain)).body;
const reconcileNow = () => t.app.tx(async (tx) => tx.enqueue(reconcilePayouts, {}));
/** Waits until the reconciliation, which runs once a minute in production, has a result. */
const untilChain = (expected: { stop?: unknown; doubt?: unknown; changed?: unknown }) =>
  retryUntilPass(async () => {
    await reconcileNow();
    expect(await chainView()).toMatchObject(expected);
  }, 20_000);
const signedRoots = async () =>
  (
    await sql<{ n: number }>(
      t.app,
      `select count(*)::int as n from chain_attempts a join chain_transactions t on t.id = a.transaction_id where t.kind = 'epoch-root'`,
    )
  )[0]?.n;
const treasury = async () => {
  const key = associatedTokenAddress(t.chain.keys.treasury.publicKey, t.chain.keys.rewardMint.publicKey);
  return decodeTokenAccount(await t.chain.connection.getAccountInfo(key, 'finalized'))?.amount ?? 0n;
};

test('after a restore, roots are paused until nothing that was signed before can land; a forgotten root is recognized and not paid again', async () => {
  await start();
  const [first, second] = [day++, day++];
  await openEpoch(t, first, leaves(10n, 20n));
  const before = await treasury();
  await stop();
  await forgetRoot(first);
  await restore();
  await insertComputedEpoch(t.app, second, leaves(5n));
  await start();
  await untilChain({ doubt: expect.stringMatching(/the database was restored or failed over; roots are paused/), stop: null });
  expect(await signedRoots()).toBe(0);
  await untilChain({ doubt: null });
  await untilEpoch(t, first, 'committed');
  await untilEpoch(t, second, 'committed');
  expect(await signedRoots()).toBe(1);
  expect(await treasury()).toBe(before - 5n);
}, 60_000);

test('after a restore, an epoch that is open with another root pauses all roots until an operator settles the open root', async () => {
  await start();
  const [first, second] = [day++, day++];
  const { root } = await openEpoch(t, first, leaves(10n, 20n));
  await stop();
  await forgetRoot(first, 'cd'.repeat(32));
  await restore();
  await insertComputedEpoch(t.app, second, leaves(5n));
  const signed = await signedRoots();
  await start();
  await untilChain({ doubt: expect.stringMatching(new RegExp(`epoch ${first} is open on the chain with the root ${root}, but has another root`)) });
  expect(await signedRoots()).toBe(signed);
  expect((await admin().call(postSettledOffChain, { body: { epochs: [first] } })).status).toBe(409);
  expect((await admin().call(postSettledOffChain, { body: { epochs: [first], root } })).status).toBe(202);
  await untilEpoch(t, first, 'settled');
  await untilChain({ doubt: null });
  await untilEpoch(t, second, 'committed');
}, 60_000);

test('after a restore, an open epoch that the database does not have is settled after its computation', async () => {
  await start();
  const epoch = day++;
  const { root } = await openEpoch(t, epoch, leaves(10n));
  await stop();
  await forgetRoot(epoch);
  await sql(t.app, `delete from chain_transactions where kind = 'epoch-root' and subject = $1`, [String(epoch)]);
  await sql(t.app, 'delete from epochs where epoch = $1', [epoch]);
  await restore();
  await start();
  await untilChain({ doubt: `epoch ${epoch} is open on the chain with the root ${root}, but is not in the database` });
  expect((await admin().call(postSettledOffChain, { body: { epochs: [epoch], root } })).status).toBe(404);
  await admin().ok(postTrigger, { body: { epoch } });
  await untilEpoch(t, epoch, 'empty');
  expect((await admin().call(postSettledOffChain, { body: { epochs: [epoch], root } })).status).toBe(202);
  await untilEpoch(t, epoch, 'settled');
  await untilChain({ doubt: null });
}, 60_000);

test.each([
  ['EPOCH_AUTHORITY_KEY', 'epochAuthority'],
  ['TREASURY_KEY', 'treasury'],
  ['REWARD_MINT', 'rewardMint'],
] as const)(
  'after a restore together with another %s, nothing is signed and one sentence names it; the recorded setting continues',
  async (setting, name) => {
    await start();
    await untilChain({ doubt: null, stop: null });
    await stop();
    await restore();
    const epoch = day++;
    await insertComputedEpoch(t.app, epoch, leaves(5n));
    const other = newSigner();
    const signed = await signedRoots();
    await start({
      [setting]: setting === 'REWARD_MINT' ? other.publicKey.toBase58() : JSON.stringify([...other.secretKey]),
      ...(setting === 'TREASURY_KEY' ? { TREASURY_ADDRESS: other.publicKey.toBase58() } : {}),
    });
    await untilChain({ stop: expect.stringContaining(`${setting} is ${other.publicKey.toBase58()}, but `), changed: [name] });
    expect(await sql(t.app, `select scope from chain_pauses where scope = 'everything'`)).toHaveLength(1);
    await untilChain({ stop: expect.any(String) });
    expect(await signedRoots()).toBe(signed);
    await stop();
    await start();
    await untilChain({ stop: null });
    await untilChain({ doubt: null });
    await untilEpoch(t, epoch, 'committed');
  },
  60_000,
);

test('after a restore, an operator can accept other keys by naming all of them', async () => {
  await restore();
  const other = newSigner();
  await t.chain.fundWallet({ lamports: 10_000_000_000 }, other);
  await start({ FEE_PAYER_KEY: JSON.stringify([...other.secretKey]) });
  await untilChain({ stop: expect.stringContaining('FEE_PAYER_KEY is '), changed: ['feePayer'] });
  const refused = await admin().call(postAcceptKeys, { body: { changed: ['feePayer', 'treasury'] } });
  expect([refused.status, refused.body]).toEqual([409, { error: 'changed must list: feePayer' }]);
  expect(await admin().call(postAcceptKeys, { body: { changed: ['feePayer'] } })).toMatchObject({ status: 200, body: { stop: null, changed: [] } });
  await untilChain({ stop: null, doubt: null });
  const epoch = day++;
  await openEpoch(t, epoch, leaves(5n));
  expect(await t.chain.connection.getAccountInfo(accountOf(t, epoch), 'finalized')).not.toBeNull();
}, 60_000);
