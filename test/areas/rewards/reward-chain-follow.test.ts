import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { findClaimSignatures, followEpochs } from '#areas/rewards';
import { statement } from '#platform/db/sql.ts';
import { parseAddress, type Signer } from '#platform/solana/primitives.ts';
import { transferLamports } from '#platform/solana/system-program.ts';
import { startWorker } from '#test/support/app.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { signedBy } from '#test/support/solana/chain.ts';
import {
  accountOf,
  claimAsStranger,
  claimBody,
  type insertComputedEpoch,
  leafOf,
  newClaimant,
  newStranger,
  openEpoch,
  openTokenAccount,
  type RewardsTest,
  rewardOf,
  sendAs,
  startRewardsTest,
  storedClaims,
  type TestEpoch,
  untilClaim,
} from '#test/support/solana/claims.ts';
import { createWallet } from '#test/support/wallet.ts';

let t: RewardsTest;
let worker: Awaited<ReturnType<typeof startWorker>>;
let stranger: Signer;
beforeAll(async () => {
  // No worker follows epochs; each test calls followEpochs.
  t = await startRewardsTest({ workers: false });
  worker = await startWorker({ ...t.env, QUEUES: 'polling' }, t.clock);
  stranger = await newStranger(t);
});
afterEach(() => t.chain.control.clear());
afterAll(async () => {
  await worker.close();
  await t.close();
});

/** Opens an epoch for new wallets with token accounts. */
async function epochOf(number: number, n: number): Promise<TestEpoch> {
  const wallets = Array.from({ length: n }, () => createWallet().address);
  await Promise.all(wallets.map((wallet) => openTokenAccount(t, wallet)));
  return await openEpochHere(
    number,
    wallets.map((wallet, i) => [wallet, BigInt(i + 1)] as const),
  );
}

/** Opens an epoch with a temporary worker. */
async function openEpochHere(number: number, amounts: Parameters<typeof insertComputedEpoch>[2]): Promise<TestEpoch> {
  const opener = await startWorker({ ...t.env }, t.clock);
  try {
    return await openEpoch(t, number, amounts);
  } finally {
    await opener.close();
  }
}

/** Claims leaves as a stranger and waits until the transaction is finalized. */
async function claimFinally(epoch: TestEpoch, indexes: readonly number[]): Promise<string> {
  const leaves = indexes.flatMap((index) => epoch.leaves[index] ?? []);
  const signature = await claimAsStranger(t, epoch, leaves, stranger);
  await retryUntilPass(async () => {
    const { value } = await t.chain.connection.getSignatureStatus(signature, { searchTransactionHistory: true });
    expect(value?.confirmationStatus).toBe('finalized');
  });
  return signature;
}

const selectAccount = statement<{ claimed: string; claims: number; cursor: string | null }>(
  'test_followed_account',
  'select claimed::text, claims, cursor from epoch_accounts where epoch = $1',
);
const followed = async (epoch: number) => (await t.app.db.query(selectAccount, [epoch]))[0];
const claimed = async (epoch: number) => (await storedClaims(t, epoch)).map(({ index, state, signature }) => [index, state, signature]);

test('claims are stored only when the second provider shows them too', async () => {
  const epoch = await epochOf(499, 2);
  await t.chain.control.fault({ kind: 'cut', node: 'second', methods: ['getAccountInfo'] });
  const signature = await claimFinally(epoch, [1]);
  await followEpochs(t.app);
  expect(await claimed(499)).toEqual([]);
  await t.chain.control.clear();
  await t.chain.control.lag(300, 'second');
  await followEpochs(t.app);
  expect(await claimed(499)).toEqual([]);
  await t.chain.control.clear();
  await followEpochs(t.app);
  expect(await claimed(499)).toEqual([[1, 'claimed', signature]]);
});

test('claims of strangers are stored with their signatures, including several claims in one transaction', async () => {
  const epoch = await epochOf(500, 5);
  const [first, second] = [await claimFinally(epoch, [3]), await claimFinally(epoch, [0, 4])];
  await followEpochs(t.app);
  expect(await claimed(500)).toEqual([
    [0, 'claimed', second],
    [3, 'claimed', first],
    [4, 'claimed', second],
  ]);
  expect((await storedClaims(t, 500)).map(({ requested_by }) => requested_by)).toEqual([null, null, null]);
  expect(await followed(500)).toMatchObject({ claimed: '10', claims: 3, cursor: second });
  await followEpochs(t.app);
  expect(await followed(500)).toMatchObject({ claimed: '10', claims: 3 });
});

test('a transaction that only names an epoch, or that failed, is not stored as a claim', async () => {
  const epoch = await epochOf(501, 3);
  await claimFinally(epoch, [1]);
  await expect(claimFinally(epoch, [1])).rejects.toThrow('6023');
  const spam = transferLamports(stranger.publicKey, accountOf(t, 501), 1);
  await sendAs(t, stranger, [spam]);
  const last = await claimFinally(epoch, [2]);
  await followEpochs(t.app);
  expect(await claimed(501)).toEqual([
    [1, 'claimed', expect.any(String)],
    [2, 'claimed', last],
  ]);
});

test('following unchanged epochs takes one RPC request in total', async () => {
  const fault = await t.chain.control.fault({ kind: 'delay', ms: 0 });
  const before = await fault.hits();
  await followEpochs(t.app);
  expect((await fault.hits()) - before).toBe(1);
});

test('concurrent runs of followEpochs count each claim once', async () => {
  const epoch = await epochOf(502, 4);
  const signature = await claimFinally(epoch, [0, 1, 2, 3]);
  await Promise.all([followEpochs(t.app), followEpochs(worker.app), followEpochs(t.app), followEpochs(worker.app)]);
  expect(await claimed(502)).toEqual([0, 1, 2, 3].map((index) => [index, 'claimed', signature]));
  expect(await followed(502)).toMatchObject({ claimed: '10', claims: 4 });
});

test('when the transaction history was purged, claims are read from the bitmap without signatures', async () => {
  const epoch = await epochOf(503, 12);
  await claimFinally(epoch, [2, 3]);
  await claimFinally(epoch, [5, 11]);
  await t.chain.control.purge();
  await followEpochs(t.app);
  await followEpochs(t.app);
  expect(await claimed(503)).toEqual([2, 3, 5, 11].map((index) => [index, 'claimed', null]));
  await t.chain.control.clear();
  // Later claims are read from the history again.
  const next = await claimFinally(epoch, [0]);
  await followEpochs(t.app);
  expect((await claimed(503))[0]).toEqual([0, 'claimed', next]);
  expect(await followed(503)).toMatchObject({ claimed: String(3 + 4 + 6 + 12 + 1), claims: 5 });
});

const forgetCursor = statement(
  'test_forget_cursor',
  'update epoch_accounts set cursor = null, cursor_slot = 0, cursor_claims = claims - 500 where epoch = $1',
);

test('when 500 claims became known without reading the history, the cursor moves to the newest signature', async () => {
  const epoch = await epochOf(507, 3);
  await claimFinally(epoch, [0]);
  await followEpochs(t.app);
  await t.app.tx((tx) => tx.query(forgetCursor, [507]));
  await followEpochs(t.app);
  const { cursor } = (await followed(507)) ?? {};
  const [newest] = await t.chain.connection.getSignaturesForAddress(accountOf(t, 507), { limit: 1 }, 'finalized');
  expect(cursor).toBe(newest?.signature);
  const next = await claimFinally(epoch, [2]);
  await followEpochs(t.app);
  expect((await claimed(507))[1]).toEqual([2, 'claimed', next]);
});

test('claims that a lagging RPC node does not show are stored when the node has caught up', async () => {
  const epoch = await epochOf(504, 3);
  const signature = await claimFinally(epoch, [1]);
  await t.chain.control.lag(300);
  await followEpochs(t.app);
  expect(await claimed(504)).toEqual([]);
  await t.chain.control.lag(0);
  await followEpochs(t.app);
  expect(await claimed(504)).toEqual([[1, 'claimed', signature]]);
});

/** Sends many transfers of lamports that name an epoch but claim nothing. */
async function spam(epoch: number, n: number): Promise<void> {
  const { connection } = t.chain;
  const wallet = createWallet();
  const spammer = parseAddress(wallet.address);
  await t.chain.localnet.fund(spammer, { lamports: 1_000_000_000 });
  for (let i = 0; i < n; i += 50) {
    const { blockhash } = await connection.getLatestBlockhash();
    const some = Array.from({ length: Math.min(50, n - i) }, (_, at) => {
      const { bytes } = signedBy(wallet, [transferLamports(spammer, accountOf(t, epoch), i + at + 1)], blockhash);
      return connection.sendRawTransaction(bytes, { skipPreflight: true });
    });
    await Promise.all(some);
  }
}

test('a history with more signatures than one RPC response contains is read completely', async () => {
  const epoch = await epochOf(505, 3);
  const first = await claimFinally(epoch, [0]);
  await spam(505, 1_010);
  const last = await claimFinally(epoch, [2]);
  await retryUntilPass(async () => {
    await followEpochs(t.app);
    await findClaimSignatures(t.app);
    expect(await claimed(505)).toEqual([
      [0, 'claimed', first],
      [2, 'claimed', last],
    ]);
  });
}, 60_000);

test('a worker that starts later stores the claims that landed while no worker ran', async () => {
  const players = await Promise.all([newClaimant(t), newClaimant(t)]);
  const epoch = await openEpochHere(
    506,
    players.map(({ wallet }) => [wallet, 9n]),
  );
  const [first] = players;
  const response = first?.fetch('/api/rewards/claim', { json: claimBody(epoch, first.wallet), headers: { Prefer: 'wait=0' } });
  expect((await response)?.status).toBe(202);
  const signature = await claimFinally(epoch, [0, 1]);
  const back = await startWorker({ ...t.env }, t.clock);
  try {
    for (const index of [0, 1]) expect(await untilClaim(t, 506, index, 'claimed')).toMatchObject({ signature });
    expect(await rewardOf(t, leafOf(epoch, first?.wallet ?? '').wallet)).toBe(9n);
  } finally {
    await back.close();
  }
});
