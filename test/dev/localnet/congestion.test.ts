import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ComputeBudgetProgram, type Keypair } from '@solana/web3.js';
import { startTestChain, type TestChain, transfer } from '#test/support/solana/chain.ts';

let chain: TestChain;
let payer: Keypair;
beforeAll(async () => {
  chain = await startTestChain();
  payer = await chain.fundWallet();
});
afterAll(() => chain?.close());

/** Sends a transfer of 1,000 lamports with a price. @returns the signature */
const sendAt = (price: number, lamports = 1_000) =>
  chain.send(
    [
      ComputeBudgetProgram.setComputeUnitLimit({ units: 30_000 }),
      ...(price === 0 ? [] : [ComputeBudgetProgram.setComputeUnitPrice({ microLamports: price })]),
      transfer(payer, payer.publicKey, lamports),
    ],
    [payer],
  );
const landed = async (signatures: readonly string[]) =>
  (await chain.connection.getSignatureStatuses([...signatures])).value.map((status) => status?.slot ?? null);

test('of the transactions that wait, those with the highest prices land, and one below the price of the blocks waits until its blockhash expires', async () => {
  await chain.control.congest({ median: 10_000, spread: 0.5 });
  const [low, high] = [await sendAt(100), await sendAt(1_000_000)];
  await chain.control.advance(3);
  const [no, yes] = await landed([low, high]);
  expect(no).toBeNull();
  expect(yes).toBeGreaterThan(0);
  expect((await chain.control.status()).waiting).toBe(1);
  await chain.control.advance(200);
  expect((await chain.control.status()).waiting).toBe(0);
  expect(await landed([low])).toEqual([null]);
  await chain.control.clear();
});

test('the blocks are full at the median price of the other senders, and getRecentPrioritizationFees returns the lowest price that landed', async () => {
  await chain.control.congest({ median: 10_000, spread: 1 });
  await chain.control.advance(150);
  const fees = (await chain.connection.getRecentPrioritizationFees()).map(({ prioritizationFee }) => prioritizationFee).filter((fee) => fee > 0);
  expect(fees.length).toBeGreaterThan(100);
  const mean = fees.reduce((sum, fee) => sum + fee, 0) / fees.length;
  expect(mean).toBeGreaterThan(8_000);
  expect(mean).toBeLessThan(12_500);
  await chain.control.clear();
});

test('an account that other senders write has a higher price than the block, up to the compute units of one account', async () => {
  const hot = payer.publicKey.toBase58();
  await chain.control.congest({ median: 10_000, spread: 1, hot: [{ address: hot, share: 0.5 }] });
  await chain.control.advance(100);
  const priceOf = async (accounts: Keypair['publicKey'][]) => {
    const fees = (await chain.connection.getRecentPrioritizationFees({ lockedWritableAccounts: accounts })).slice(-50);
    return fees.reduce((sum, { prioritizationFee }) => sum + prioritizationFee, 0) / fees.length;
  };
  const [block, account] = [await priceOf([]), await priceOf([payer.publicKey])];
  expect(account).toBeGreaterThan(1.3 * block);
  const [atBlock, atAccount] = [await sendAt(Math.round(block * 1.2)), await sendAt(Math.round(account * 3))];
  await chain.control.advance(2);
  const [no, yes] = await landed([atBlock, atAccount]);
  expect(no).toBeNull();
  expect(yes).toBeGreaterThan(0);
  await chain.control.clear();
});

test('the end of the congestion lands the waiting transactions', async () => {
  await chain.control.congest({ median: 1_000_000 });
  const waiting = await sendAt(0);
  await chain.control.advance(5);
  expect(await landed([waiting])).toEqual([null]);
  await chain.control.congest(null);
  expect((await landed([waiting]))[0]).toBeGreaterThan(0);
});
