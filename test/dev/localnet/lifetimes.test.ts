import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { Keypair } from '@solana/web3.js';
import { PATIENCE } from '#test/support/patience.ts';
import { signed, startTestChain, type TestChain, transfer } from '#test/support/solana/chain.ts';

let chain: TestChain;
let payer: Keypair;
beforeAll(async () => {
  chain = await startTestChain();
  payer = await chain.fundWallet({ lamports: 100_000_000_000 });
});
afterEach(() => chain.control.clear());
afterAll(() => chain?.close());

const isKnown = async (signature: string) => (await chain.connection.getSignatureStatus(signature)).value !== null;

test('a blockhash is valid for 150 blocks', async () => {
  await chain.control.pause();
  const { blockhash, lastValidBlockHeight } = await chain.connection.getLatestBlockhash();
  const height = await chain.connection.getBlockHeight('processed');
  await chain.control.advance(lastValidBlockHeight - height);
  expect((await chain.connection.isBlockhashValid(blockhash, { commitment: 'processed' })).value).toBe(true);
  expect(await isKnown(await chain.send([transfer(payer, Keypair.generate().publicKey, 1_000_000)], [payer], blockhash))).toBe(true);

  await chain.control.advance(1);
  expect((await chain.connection.isBlockhashValid(blockhash, { commitment: 'processed' })).value).toBe(false);
  expect(await isKnown(await chain.send([transfer(payer, Keypair.generate().publicKey, 1_000_000)], [payer], blockhash))).toBe(false);
  const raw = signed([transfer(payer, Keypair.generate().publicKey, 1_000_000)], [payer], blockhash).serialize();
  await expect(chain.connection.sendRawTransaction(raw, { preflightCommitment: 'processed' })).rejects.toThrow('Blockhash not found');
});

test('skipped slots do not shorten the validity of a blockhash', async () => {
  await chain.control.pause();
  const before = { slot: await chain.connection.getSlot('processed'), height: await chain.connection.getBlockHeight('processed') };
  const { blockhash } = await chain.connection.getLatestBlockhash();
  await chain.control.skip(200);
  expect(await chain.connection.getSlot('processed')).toBe(before.slot + 201);
  expect(await chain.connection.getBlockHeight('processed')).toBe(before.height + 1);
  expect(await isKnown(await chain.send([transfer(payer, Keypair.generate().publicKey, 1_000_000)], [payer], blockhash))).toBe(true);
  expect(await chain.connection.getBlocks(before.slot - 1, before.slot + 201, 'confirmed')).toEqual([before.slot - 1, before.slot]);
  await chain.control.advance(1);
  expect(await chain.connection.getBlocks(before.slot, before.slot + 201, 'confirmed')).toEqual([before.slot, before.slot + 201]);
  await expect(chain.connection.getBlock(before.slot + 5, { commitment: 'confirmed', maxSupportedTransactionVersion: 1 })).rejects.toThrow(
    'was skipped',
  );
});

test('a transaction with an unknown blockhash is refused', async () => {
  const unknown = Keypair.generate().publicKey.toBase58();
  expect((await chain.connection.isBlockhashValid(unknown)).value).toBe(false);
  expect(await isKnown(await chain.send([transfer(payer, Keypair.generate().publicKey, 1_000_000)], [payer], unknown))).toBe(false);
});

test('slots follow the system time and stop during a pause', async () => {
  const first = await chain.connection.getSlot('processed');
  await waitFor(async () => (await chain.connection.getSlot('processed')) > first + 5);
  await chain.control.pause();
  const paused = await chain.connection.getSlot('processed');
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(await chain.connection.getSlot('processed')).toBe(paused);
  await chain.control.resume();
  await waitFor(async () => (await chain.connection.getSlot('processed')) > paused);
});

test('block time follows the system time, or the time that a command has set', async () => {
  const clock = async () => {
    const slot = await chain.connection.getSlot('confirmed');
    return (await chain.connection.getBlockTime(slot)) ?? 0;
  };
  expect(Math.abs((await clock()) - Date.now() / 1000)).toBeLessThan(2);
  await chain.control.setOffset(86_400_000);
  await chain.control.advance(2);
  expect(Math.abs((await clock()) - 86_400 - Date.now() / 1000)).toBeLessThan(2);
  await chain.control.setTime(new Date('2030-01-01T00:00:00Z'));
  await chain.control.advance(2);
  expect(Math.abs((await clock()) - Date.UTC(2030, 0, 1) / 1000)).toBeLessThan(2);
});

async function waitFor(condition: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + PATIENCE * 5_000;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error('the condition was not met in time');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
