import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { postImport } from '#areas/rewards/routes/compute.ts';
import { deriveAddress, newSigner } from '#platform/solana/primitives.ts';
import { associatedTokenAddress } from '#platform/solana/tokens.ts';
import { DAY, randomWallet } from '#test/support/areas/epochs.ts';
import { adminOf } from '#test/support/http/client.ts';
import { type RewardsTest, startRewardsTest } from '#test/support/solana/claims.ts';

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
