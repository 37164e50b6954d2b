import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { computeEpoch } from '#areas/rewards';
import { postImport } from '#areas/rewards/routes/compute.ts';
import { deriveAddress, newSigner } from '#platform/solana/primitives.ts';
import { associatedTokenAddress } from '#platform/solana/tokens.ts';
import { ADMIN_TOKEN } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { DAY, randomWallet } from '#test/support/areas/epochs.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { adminOf } from '#test/support/http/client.ts';
import { type RewardsTest, startRewardsTest } from '#test/support/solana/claims.ts';
import { send } from '#test/support/wallet.ts';

let t: RewardsTest;
let epoch = DAY;
beforeAll(async () => {
  t = await startRewardsTest({ env: { QUEUES: 'epochs' } });
});
afterAll(() => t.close());

const importFor = (...wallets: string[]) =>
  adminOf(t).call(postImport, { body: { epoch: ++epoch, distribution: wallets.map((wallet) => ({ wallet, amount: '5' })) } });

test.each([
  ['the system program', '11111111111111111111111111111111'],
  ['the token program', 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'],
  ['the clock', 'SysvarC1ock11111111111111111111111111111111'],
])('an import with %s as a wallet is refused', async (_name, wallet) => {
  expect(await importFor(randomWallet(), wallet)).toMatchObject({
    status: 400,
    body: { error: expect.stringMatching(/^distribution must be valid: distribution\[1\]: wallet must be able to claim/) },
  });
});

test('an import with a deployed program, a mint or a token account as a wallet is refused', async () => {
  const { program, rewardMint, usdcMint, treasury } = t.chain.keys;
  const account = associatedTokenAddress(treasury.publicKey, rewardMint.publicKey);
  for (const key of [program.publicKey, rewardMint.publicKey, usdcMint.publicKey, account]) {
    expect(await importFor(randomWallet(), key.toBase58())).toMatchObject({
      status: 400,
      body: { error: `each wallet of the distribution must be able to claim, but these are programs or their accounts: ${key.toBase58()}` },
    });
  }
});

test('an import with a banned wallet is refused', async () => {
  const banned = randomWallet();
  await sql(t.app, 'insert into players (wallet, banned_at) values ($1, app_now())', [banned]);
  expect(await importFor(randomWallet(), banned)).toMatchObject({
    status: 400,
    body: { error: `distribution must not contain banned wallets, but has: ${banned}` },
  });
});

test('an import for a wallet with SOL, a wallet without an account and an off-curve address is accepted', async () => {
  const funded = await t.chain.fundWallet();
  const offCurve = deriveAddress(newSigner().publicKey, Buffer.from('vault'));
  expect((await importFor(funded.publicKey.toBase58(), randomWallet(), offCurve.toBase58())).status).toBe(201);
});

test('an import is not accepted while the RPC node does not answer', async () => {
  const fault = await t.chain.control.fault({ kind: 'fail' });
  expect((await importFor(randomWallet())).status).toBe(503);
  await fault.clear();
});

/** Uploads an import of 20,000 new wallets and the given ones at the end, two pages of rows. @returns the epoch */
async function importMany(...last: string[]): Promise<number> {
  const rows = [...Array.from({ length: 20_000 }, randomWallet), ...last].map((wallet) => JSON.stringify({ wallet, amount: '5' }));
  const body = [JSON.stringify({ epoch: ++epoch }), ...rows].join('\n');
  const headers = { Authorization: `Bearer ${ADMIN_TOKEN}`, 'Content-Type': 'application/x-ndjson', Prefer: 'wait=0' };
  expect((await send(t, '/api/rewards/epoch/import', { method: 'POST', body, headers })).status).toBe(202);
  return epoch;
}
const stateOf = async (of: number) => (await sql<{ state: string }>(t.app, 'select state from epochs where epoch = $1', [of]))[0]?.state;

test('a large import with a token account as a wallet is refused by the job, and its epoch is free for another import', async () => {
  const { rewardMint, treasury } = t.chain.keys;
  const account = associatedTokenAddress(treasury.publicKey, rewardMint.publicKey).toBase58();
  const refused = await importMany(account);
  await retryUntilPass(async () =>
    expect(await sql(t.app, 'select state, reason from reward_imports where epoch = $1', [refused])).toEqual([
      { state: 'refused', reason: `each wallet of the distribution must be able to claim, but these are programs or their accounts: ${account}` },
    ]),
  );
  expect(await stateOf(refused)).toBeUndefined();
}, 30_000);

test('a large import continues at the first unchecked page after the RPC node did not answer', async () => {
  const last = randomWallet();
  const fault = await t.chain.control.fault({ kind: 'fail', methods: ['getMultipleAccounts'], mentions: last });
  const imported = await importMany(last);
  const checked = () =>
    sql<{ checked: boolean }>(
      t.app,
      'select checked from reward_import_pages p join reward_imports i on i.id = p.import where epoch = $1 order by page',
      [imported],
    );
  await retryUntilPass(async () => {
    expect(await fault.hits()).toBeGreaterThan(0);
    expect(await checked()).toEqual([{ checked: true }, { checked: false }]);
  });
  expect(await stateOf(imported)).toBe('computing');
  await fault.clear();
  const reads = await t.chain.control.fault({ kind: 'delay', ms: 0, methods: ['getMultipleAccounts'] });
  await retryUntilPass(async () => {
    await computeEpoch(t.app, imported);
    expect(await stateOf(imported)).not.toBe('computing');
  });
  // The first page alone has 164 batches.
  expect(await reads.hits()).toBeLessThan(160);
}, 30_000);
