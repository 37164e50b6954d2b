import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Keypair, PublicKey, SYSVAR_CLOCK_PUBKEY } from '@solana/web3.js';
import { programDataAddress } from '#platform/solana/deployed-program.ts';
import { associatedTokenAddress, decodeMint, decodeTokenAccount, MINT_BYTES, TOKEN_ACCOUNT_BYTES, TOKEN_PROGRAM } from '#platform/solana/tokens.ts';
import { startTestChain, type TestChain } from '#test/support/solana/chain.ts';

let chain: TestChain;
let wallet: Keypair;
beforeAll(async () => {
  chain = await startTestChain();
  wallet = await chain.fundWallet({ lamports: 1_000_000_000, reward: 1_500_000n, usdc: 7n });
  await chain.control.advance(10);
});
afterAll(() => chain?.close());

test('a new cluster has programs without an upgrade authority, two mints without a freeze authority, and a treasury with both tokens', async () => {
  const { program, drawsProgram, rewardMint, usdcMint, treasury } = chain.keys;
  for (const { publicKey } of [program, drawsProgram]) {
    const [account, bytes] = await chain.connection.getMultipleAccountsInfo([publicKey, programDataAddress(publicKey)], 'finalized');
    expect(account).toMatchObject({ executable: true });
    expect(bytes?.data[12]).toBe(0); // no upgrade authority
  }
  const [reward, usdc] = await chain.connection.getMultipleAccountsInfo([rewardMint.publicKey, usdcMint.publicKey], 'finalized');
  expect(decodeMint(reward ?? null)).toEqual({ decimals: 6, supply: 1_000_000_001_500_000n, freezable: false });
  expect(decodeMint(usdc ?? null)).toEqual({ decimals: 6, supply: 10_000_000_000_007n, freezable: false });
  const account = await chain.connection.getAccountInfo(associatedTokenAddress(treasury.publicKey, rewardMint.publicKey));
  expect(decodeTokenAccount(account)).toMatchObject({ amount: 1_000_000_000_000_000n, frozen: false });
  expect(Object.keys(chain.env).sort()).toEqual(
    [
      'SOLANA_RPC_URL',
      'SOLANA_RPC_SECOND_URL',
      'DISTRIBUTOR_PROGRAM_ID',
      'DRAWS_PROGRAM_ID',
      'DRAWS_ADDRESS',
      'RECEIPT_KEY',
      'REWARD_MINT',
      'USDC_MINT',
      'FEE_PAYER_KEY',
      'EPOCH_AUTHORITY_KEY',
      'TREASURY_KEY',
      'COMMITTER_KEY',
      'TREASURY_ADDRESS',
      'COMMITTER_ADDRESS',
      'DRAND_URLS',
      'DRAND_CHAIN_HASH',
      'DRAND_PUBLIC_KEY',
    ].sort(),
  );
  expect(Keypair.fromSecretKey(Uint8Array.from(JSON.parse(chain.env.TREASURY_KEY ?? ''))).publicKey).toEqual(treasury.publicKey);
});

test("getTokenAccountsByOwner finds a wallet's token accounts by mint and by program, in base64 and parsed", async () => {
  const { rewardMint, usdcMint } = chain.keys;
  const address = associatedTokenAddress(wallet.publicKey, rewardMint.publicKey);
  const byMint = await chain.connection.getTokenAccountsByOwner(wallet.publicKey, { mint: rewardMint.publicKey });
  expect(byMint.value.map(({ pubkey }) => pubkey)).toEqual([address]);
  const all = await chain.connection.getParsedTokenAccountsByOwner(wallet.publicKey, { programId: TOKEN_PROGRAM });
  const amounts = all.value.map(({ account }) => [account.data.parsed.info.mint, account.data.parsed.info.tokenAmount.amount]);
  expect(Object.fromEntries(amounts)).toEqual({ [rewardMint.publicKey.toBase58()]: '1500000', [usdcMint.publicKey.toBase58()]: '7' });
  expect((await chain.connection.getTokenAccountBalance(address)).value).toEqual({
    amount: '1500000',
    decimals: 6,
    uiAmount: 1.5,
    uiAmountString: '1.5',
  });
  expect((await chain.connection.getTokenSupply(usdcMint.publicKey)).value.amount).toBe('10000000000007');
  await expect(chain.connection.getTokenAccountsByOwner(wallet.publicKey, { mint: wallet.publicKey })).rejects.toThrow('could not find mint');
  await expect(chain.connection.getTokenAccountBalance(wallet.publicKey)).rejects.toThrow('not a Token account');
  await expect(chain.connection.getTokenSupply(Keypair.generate().publicKey)).rejects.toThrow('could not find account');
});

test('getProgramAccounts filters accounts by data size and by bytes, and returns a data slice', async () => {
  const mint = chain.keys.rewardMint.publicKey;
  const found = await chain.connection.getProgramAccounts(TOKEN_PROGRAM, {
    filters: [{ dataSize: TOKEN_ACCOUNT_BYTES }, { memcmp: { offset: 0, bytes: mint.toBase58() } }],
    dataSlice: { offset: 64, length: 8 },
  });
  const amounts = found.map(({ account }) => account.data.readBigUInt64LE());
  expect(amounts.sort()).toEqual([1_000_000_000_000_000n, 1_500_000n].sort());
  const mints = await chain.connection.getParsedProgramAccounts(TOKEN_PROGRAM, { filters: [{ dataSize: MINT_BYTES }] });
  expect(mints.map(({ pubkey }) => pubkey.toBase58()).sort()).toEqual([mint.toBase58(), chain.keys.usdcMint.publicKey.toBase58()].sort());
  expect(mints[0]?.account.data).toMatchObject({ program: 'spl-token', parsed: { type: 'mint', info: { decimals: 6, freezeAuthority: null } } });
});

test('a missing account is null, the minimum rent is that of the SVM, and the clock sysvar has the slot of the read', async () => {
  const nobody = Keypair.generate().publicKey;
  expect(await chain.connection.getMultipleAccountsInfo([wallet.publicKey, nobody])).toEqual([
    expect.objectContaining({ lamports: 1_000_000_000 }),
    null,
  ]);
  expect(await chain.connection.getMinimumBalanceForRentExemption(165)).toBe(2_039_280);
  const { context, value } = await chain.connection.getAccountInfoAndContext(SYSVAR_CLOCK_PUBKEY, 'finalized');
  expect(value?.data.readBigUInt64LE(0)).toBe(BigInt(context.slot));
  expect(Math.abs(Number(value?.data.readBigInt64LE(32)) - Date.now() / 1000)).toBeLessThan(3);
  expect((await chain.connection.getAccountInfo(new PublicKey('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA')))?.executable).toBe(true);
});

test('the faucet sends SOL and tokens to a wallet', async () => {
  const poor = Keypair.generate().publicKey;
  const ask = (body: object) => fetch(`${chain.localnet.url}/faucet`, { method: 'POST', body: JSON.stringify(body) });
  expect((await ask({ wallet: poor.toBase58(), sol: 2, reward: 12.5, usdc: 3 })).status).toBe(200);
  await chain.control.advance(2);
  expect(await chain.connection.getBalance(poor)).toBe(2_000_000_000);
  const account = await chain.connection.getAccountInfo(associatedTokenAddress(poor, chain.keys.rewardMint.publicKey));
  expect(decodeTokenAccount(account)?.amount).toBe(12_500_000n);
  expect((await ask({ wallet: 'me' })).status).toBe(400);
  expect((await ask({ sol: 1 })).status).toBe(400);
});
