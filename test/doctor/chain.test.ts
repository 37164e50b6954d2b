import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { storeBalances } from '#areas/lottery';
import { programDataAddress } from '#platform/solana/deployed-program.ts';
import { newSigner, parseAddress } from '#platform/solana/primitives.ts';
import { associatedTokenAddress } from '#platform/solana/tokens.ts';
import type { TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import type { TestChain } from '#test/support/solana/chain.ts';
import { type DoctorTest, startDoctorTest } from './doctor-test.ts';

let d: DoctorTest;
let t: TestApp;
let chain: TestChain;
let run: DoctorTest['run'];
let expectFinding: DoctorTest['expectFinding'];
beforeAll(async () => {
  d = await startDoctorTest();
  ({ t, chain, run, expectFinding } = d);
});
afterAll(() => d?.close());

test('a foreign program, and one that a key of the service may replace, are found', async () => {
  await expectFinding('distributor', 'wrong', 'the program on the chain differs from distributor.so', {
    env: { DISTRIBUTOR_PROGRAM_ID: chain.env.DRAWS_PROGRAM_ID ?? '' },
  });
  const data = programDataAddress(parseAddress(chain.env.DISTRIBUTOR_PROGRAM_ID ?? ''));
  const account = await chain.connection.getAccountInfo(data);
  if (!account) throw new Error('the localnet has no program');
  const setAuthority = async (authority: Uint8Array | null) => {
    const bytes = Buffer.from(account.data);
    bytes[12] = authority === null ? 0 : 1;
    bytes.set(authority ?? Buffer.alloc(32), 13);
    const { lamports, owner } = account;
    await chain.control.setAccounts([{ address: data.toBase58(), account: { lamports, owner: owner.toBase58(), data: bytes.toString('base64') } }]);
    await chain.control.finalized((await chain.control.status()).slot);
  };
  await setAuthority(chain.keys.treasury.publicKey.toBytes());
  const treasury = chain.keys.treasury.publicKey.toBase58();
  await expectFinding('distributor', 'wrong', `the upgrade authority of the distributor program is ${treasury}`);
  await expectFinding('distributor', 'wrong', 'TREASURY_KEY may replace the distributor program', { env: { UPGRADE_AUTHORITY: treasury } });
  const multisig = newSigner().publicKey;
  await setAuthority(multisig.toBytes());
  await expectFinding('distributor', 'wrong', `the upgrade authority of the distributor program is ${multisig}`);
  const asked = await run(['distributor'], { env: { UPGRADE_AUTHORITY: multisig.toBase58() } });
  expect(asked).toEqual([expect.objectContaining({ state: 'ok', what: expect.stringContaining('UPGRADE_AUTHORITY may replace it') })]);
  await setAuthority(null);
  expect(await run(['distributor'])).toEqual([expect.objectContaining({ state: 'ok', what: expect.stringContaining('final') })]);
});

test('another receipt key, committer or draws account is found', async () => {
  await expectFinding('draws', 'wrong', 'but the public key of RECEIPT_KEY is', { env: { RECEIPT_KEY: Buffer.alloc(32, 5).toString('base64') } });
  const stranger = newSigner();
  const committer = { COMMITTER_KEY: JSON.stringify([...stranger.secretKey]), COMMITTER_ADDRESS: stranger.publicKey.toBase58() };
  await expectFinding('draws', 'wrong', 'but COMMITTER_KEY or COMMITTER_ADDRESS is', { env: committer });
  await expectFinding('draws', 'wrong', 'is not a draws account', { env: { DRAWS_ADDRESS: stranger.publicKey.toBase58() } });
});

test('a wrong mint, and a treasury without or with a frozen token account, are found', async () => {
  const { REWARD_MINT: reward = '', TREASURY_ADDRESS: treasury = '' } = chain.env;
  await expectFinding('tokens', 'wrong', 'USDC_MINT', { env: { USDC_MINT: treasury } });
  const stranger = newSigner();
  const other = { TREASURY_KEY: JSON.stringify([...stranger.secretKey]), TREASURY_ADDRESS: stranger.publicKey.toBase58() };
  await expectFinding('tokens', 'wrong', 'the treasury has no token account for REWARD_MINT', { env: other });
  const account = associatedTokenAddress(parseAddress(treasury), parseAddress(reward)).toBase58();
  await chain.control.freeze(account);
  await chain.control.finalized((await chain.control.status()).slot);
  await expectFinding('tokens', 'wrong', 'REWARD_MINT is frozen');
  await chain.control.freeze(account, false);
  await chain.control.finalized((await chain.control.status()).slot);
});

test('an empty fee payer and a balance that ends soon are found', async () => {
  const poor = newSigner();
  await expectFinding('balances', 'wrong', 'the SOL of the fee payer (lamports): 0', { env: { FEE_PAYER_KEY: JSON.stringify([...poor.secretKey]) } });
  await sql(t.app, `insert into chain_outflows (day, asset, priority, reserved) values (app_day(), $1, 'payouts', 6e12)`, [chain.env.USDC_MINT]);
  try {
    await expectFinding('balances', 'wrong', 'enough for 1.7 days');
  } finally {
    await sql(t.app, 'delete from chain_outflows');
  }
});

test('a payout lane that waits is found', async () => {
  await expectFinding('payout-lanes', 'off', 'none of 4 payout lanes is open');
  const stranger = newSigner().publicKey.toBase58();
  await sql(
    t.app,
    `insert into payout_lanes (lane, address, authority, reason, waiting_since) values (0, $1, $1, 'an unknown transaction', app_now())`,
    [stranger],
  );
  try {
    await expectFinding('payout-lanes', 'wrong', 'payout lane 0 waits: an unknown transaction');
    await sql(t.app, 'update payout_lanes set reason = null, waiting_since = null');
    await expectFinding('payout-lanes', 'warning', 'payout lane 0 is not open on the chain yet');
  } finally {
    await sql(t.app, 'delete from payout_lanes');
  }
});

test('a beacon whose mirrors all fail is wrong, and one failing mirror is a warning', async () => {
  const { DRAND_URLS: honest = '' } = chain.env;
  await expectFinding('beacon', 'warning', '127.0.0.1:1', { env: { DRAND_URLS: `${honest},http://127.0.0.1:1` } });
  await expectFinding('beacon', 'wrong', 'no mirror of the beacon serves a valid round', { env: { DRAND_URLS: 'http://127.0.0.1:1' } });
  await chain.control.beacon({ wrong: true });
  try {
    await expectFinding('beacon', 'wrong', 'the signature of the round is not valid');
  } finally {
    await chain.control.beacon({ wrong: false });
  }
});

test('an API process without keys reads the balances that a worker stored', async () => {
  const env = { FEE_PAYER_KEY: undefined, EPOCH_AUTHORITY_KEY: undefined, TREASURY_KEY: undefined, COMMITTER_KEY: undefined };
  const balances = async () => (await run(['balances'], { env, process: 'api' })).map(({ state, what }) => `${state}: ${what}`);
  expect(await balances()).toEqual(['off: no worker has read the balances yet']);
  await storeBalances(t.app);
  expect(await balances()).toEqual([
    expect.stringMatching(/^ok: the SOL of the fee payer/),
    expect.stringMatching(/^ok: the USDC of the treasury/),
    expect.stringMatching(/^ok: the reward tokens of the treasury/),
  ]);
});
