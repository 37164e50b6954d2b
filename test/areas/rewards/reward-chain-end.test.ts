import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { expireEpochs } from '#areas/rewards';
import { onComputed } from '#areas/rewards/epochs/on-computed.ts';
import { postSettledOffChain } from '#areas/rewards/routes/settlement.ts';
import { statement } from '#platform/db/sql.ts';
import { decodeEpoch, pageAddress, vaultAddress } from '#platform/solana/distributor/index.ts';
import type { Address } from '#platform/solana/primitives.ts';
import { pause, resume } from '#platform/solana/submission/index.ts';
import { associatedTokenAddress, decodeTokenAccount } from '#platform/solana/tokens.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { adminOf } from '#test/support/http/client.ts';
import {
  accountOf,
  claimAsStranger,
  claimBody,
  insertComputedEpoch,
  leafOf,
  newClaimant,
  openEpoch,
  type RewardsTest,
  rewardOf,
  startRewardsTest,
  storedClaims,
  untilClaim,
  untilEpoch,
} from '#test/support/solana/claims.ts';
import { createWallet } from '#test/support/wallet.ts';

let t: RewardsTest;
beforeAll(async () => {
  t = await startRewardsTest();
});
afterEach(() => t.chain.control.clear());
afterAll(() => t.close());

const leaves = (...amounts: bigint[]) => amounts.map((amount) => [createWallet().address, amount] as const);
const program = () => t.chain.keys.program.publicKey;
const vaultOf = (epoch: number) => vaultAddress(accountOf(t, epoch), t.chain.keys.rewardMint.publicKey);
const pageOf = (epoch: number) => pageAddress(program(), accountOf(t, epoch), 0);
const account = (key: Address) => t.chain.connection.getAccountInfo(key, 'finalized');
const stateOf = async (epoch: number) => decodeEpoch(program(), await account(accountOf(t, epoch)))?.state;
const treasury = async () =>
  decodeTokenAccount(await account(associatedTokenAddress(t.chain.keys.treasury.publicKey, t.chain.keys.rewardMint.publicKey)))?.amount ?? 0n;

const settle = (...epochs: number[]) => adminOf(t).call(postSettledOffChain, { body: { epochs } });
const hurry = statement('test_hurry_ends', `update chain_transactions set next_at = app_now() where state = 'queued'`);
const selectEvents = statement<{ payload: Record<string, unknown> }>(
  'test_settled_events',
  `select payload from outbox where type = 'epoch_settled' and (payload->>'epoch')::int = $1`,
);
const settledEvents = async (epoch: number) => (await t.app.db.query(selectEvents, [epoch])).map(({ payload }) => payload);

test('an epoch on the chain is settled there first: claims stay, the rest returns to the treasury, and its accounts are closed', async () => {
  const [claimant, late] = await Promise.all([newClaimant(t), newClaimant(t)]);
  const epoch = await openEpoch(t, 400, [[claimant.wallet, 30n], [late.wallet, 50n], ...leaves(20n)]);
  const before = await treasury();
  expect((await claimant.fetch('/api/rewards/claim', { json: claimBody(epoch, claimant.wallet) })).status).toBe(200);

  const answer = await settle(400);
  expect([answer.status, answer.body]).toEqual([202, { epochs: [{ epoch: 400, status: 'settling', settledAt: null }] }]);
  expect(answer.headers.get('location')).toBe('/api/rewards/epoch/400');
  const refused = await late.fetch('/api/rewards/claim', { json: claimBody(epoch, late.wallet) });
  expect([refused.status, await refused.json()]).toEqual([409, { error: expect.stringMatching(/epoch 400 is (?:being )?settled off-chain/) }]);

  await untilEpoch(t, 400, 'settled');
  expect(await storedClaims(t, 400)).toMatchObject([{ index: 0, state: 'claimed' }]);
  expect(await rewardOf(t, claimant.wallet)).toBe(30n);
  expect(await settledEvents(400)).toEqual([{ epoch: 400, claimed: '30', total: '100' }]);
  const again = await settle(400);
  expect([again.status, again.body]).toEqual([200, { epochs: [{ epoch: 400, status: 'settled', settledAt: expect.any(String) }] }]);
  await expect(claimAsStranger(t, epoch, [leafOf(epoch, late.wallet)])).rejects.toThrow('6009');

  await retryUntilPass(async () => expect(await stateOf(400)).toBe('closed'));
  await retryUntilPass(async () => expect(await account(pageOf(400))).toBeNull());
  expect(await account(vaultOf(400))).toBeNull();
  expect(await treasury()).toBe(before + 70n);
}, 30_000);

test('an epoch that was never committed is settled when no earlier transaction can land, and is never committed', async () => {
  await t.app.tx((tx) => pause(tx, 'roots', 'test'));
  const before = await treasury();
  await insertComputedEpoch(t.app, 401, leaves(5n, 6n));
  const { lastValidBlockHeight } = await t.chain.connection.getLatestBlockhash('finalized');
  const answer = await settle(401);
  expect([answer.status, answer.body]).toEqual([202, { epochs: [{ epoch: 401, status: 'settling', settledAt: null }] }]);
  await untilEpoch(t, 401, 'settled');
  expect((await t.chain.connection.getEpochInfo('finalized')).blockHeight).toBeGreaterThan(lastValidBlockHeight);
  expect(await settle(401)).toMatchObject({ status: 200, body: { epochs: [{ epoch: 401, status: 'settled', settledAt: expect.any(String) }] } });
  expect(await settledEvents(401)).toEqual([{ epoch: 401, claimed: '0', total: '11' }]);
  await t.app.tx((tx) => resume(tx, 'roots'));
  await t.app.tx((tx) => tx.query(hurry));
  await untilRoot(401, 'failed');
  expect(await account(accountOf(t, 401))).toBeNull();
  expect(await treasury()).toBe(before);
});
const selectRoot = statement<{ state: string }>('test_root_state', `select state from chain_transactions where kind = 'epoch-root' and subject = $1`);
const untilRoot = (epoch: number, state: string) =>
  retryUntilPass(async () => expect((await t.app.db.query(selectRoot, [String(epoch)]))[0]?.state).toBe(state));

const begin = statement(
  'test_begin_epoch',
  `insert into epochs (epoch, source, pool, dust, expiry_days, rules_version, formula) values ($1, 'computed', 11, 0, 90, 1, 1)`,
);
const compute = statement(
  'test_compute_epoch',
  `update epochs set state = 'computed', wallets = 1, leaves = 1, points = 1, total = 11, undistributed = 0, root = $2, computed_at = app_now()
   where epoch = $1`,
);

test('an epoch whose settlement is requested during its computation is settled after the computation', async () => {
  await t.app.tx((tx) => tx.query(begin, [408]));
  expect(await settle(408)).toMatchObject({ status: 202, body: { epochs: [{ epoch: 408, status: 'settling' }] } });
  const root = 'cd'.repeat(32);
  await t.app.tx(async (tx) => {
    await tx.query(compute, [408, Buffer.from(root, 'hex')]);
    await onComputed(tx, { epoch: 408, allocation: 1, state: 'computed', leaves: 1, total: '11', undistributed: '0', root, settleRequested: true });
  });
  await untilEpoch(t, 408, 'settled');
  expect(await settle(408)).toMatchObject({ status: 200, body: { epochs: [{ epoch: 408, status: 'settled' }] } });
  expect(await settledEvents(408)).toEqual([{ epoch: 408, claimed: '0', total: '11' }]);
  expect(await t.app.db.query(selectRoot, ['408'])).toEqual([]);
});

test('an epoch whose root is in flight and never lands is settled when the root has expired', async () => {
  await t.chain.control.fault({ kind: 'drop' });
  await insertComputedEpoch(t.app, 402, leaves(5n));
  await untilRoot(402, 'live');
  expect((await settle(402)).status).toBe(202);
  expect((await settle(402)).status).toBe(202);
  await untilEpoch(t, 402, 'settled');
  await t.chain.control.clear();
  expect((await settle(402)).status).toBe(200);
  expect(await settledEvents(402)).toHaveLength(1);
  expect(await account(accountOf(t, 402))).toBeNull();
});

test('an epoch whose root is in flight and lands late is settled on the chain', async () => {
  const before = await treasury();
  const late = await t.chain.control.fault({ kind: 'late', slots: 100 });
  await insertComputedEpoch(t.app, 403, leaves(5n));
  await untilRoot(403, 'live');
  expect((await settle(403)).status).toBe(202);
  await late.clear();
  await untilEpoch(t, 403, 'settled');
  await retryUntilPass(async () => expect(await stateOf(403)).toBe('closed'));
  expect(await treasury()).toBe(before);
  expect(await settledEvents(403)).toHaveLength(1);
}, 30_000);

test('each claim that is in flight during the settlement is either paid and stored as claimed, or failed and not paid', async () => {
  const players = await Promise.all(Array.from({ length: 8 }, () => newClaimant(t)));
  const epoch = await openEpoch(
    t,
    404,
    players.map(({ wallet }) => [wallet, 10n]),
  );
  const before = await treasury();
  const answers = players.map((player) => player.fetch('/api/rewards/claim', { json: claimBody(epoch, player.wallet) }));
  expect((await settle(404)).status).toBe(202);
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  await untilEpoch(t, 404, 'settled');
  const balances = await Promise.all(players.map(({ wallet }) => rewardOf(t, wallet)));
  expect(balances).toEqual(statuses.map((status) => (status === 200 ? 10n : 0n)));
  const paid = balances.filter((balance) => balance > 0n).length;
  expect((await storedClaims(t, 404)).filter(({ state }) => state === 'claimed')).toHaveLength(paid);
  expect(await settledEvents(404)).toEqual([{ epoch: 404, claimed: String(10 * paid), total: '80' }]);
  await retryUntilPass(async () => expect(await stateOf(404)).toBe('closed'));
  expect(await treasury()).toBe(before + 80n - 10n * BigInt(paid));
}, 30_000);

test('a settlement request with an unknown epoch returns 404 and settles none of its epochs', async () => {
  await openEpoch(t, 405, leaves(5n));
  const answer = await settle(405, 99_999);
  expect([answer.status, answer.body]).toEqual([404, { error: 'epoch 99999 does not exist' }]);
  expect(await stateOf(405)).toBe('open');
  expect((await adminOf(t, 'not-a-token-0123456789').call(postSettledOffChain, { body: { epochs: [405] } })).status).toBe(403);
});

test('an epoch expires: the rest returns to the treasury, and its accounts are closed', async () => {
  const player = await newClaimant(t);
  const epoch = await openEpoch(t, 406, [[player.wallet, 30n], ...leaves(70n)], 2);
  await openEpoch(t, 407, leaves(9n), 2);
  const before = await treasury();
  await claimAsStranger(t, epoch, [leafOf(epoch, player.wallet)]);
  await untilClaim(t, 406, 0, 'claimed');
  const later = new Date(t.clock.now().getTime() + 3 * 86_400_000);
  await t.clock.set(later);
  await expireEpochs(t.app);
  await untilEpoch(t, 406, 'expired');
  await untilEpoch(t, 407, 'expired');
  // By the clock of the chain, both epochs are still open. One of them is settled before it expires there.
  expect(await stateOf(406)).toBe('open');
  expect((await settle(407)).status).toBe(202);
  await untilEpoch(t, 407, 'settled');
  await t.chain.control.setTime(later);
  await retryUntilPass(async () => {
    await t.app.tx((tx) => tx.query(hurry));
    expect(await stateOf(406)).toBe('closed');
  });
  await retryUntilPass(async () => expect(await account(pageOf(406))).toBeNull());
  expect(await treasury()).toBe(before + 70n + 9n);
  await untilEpoch(t, 406, 'expired');
  expect(await settle(406)).toMatchObject({ status: 200, body: { epochs: [{ epoch: 406, status: 'settled' }] } });
}, 30_000);
