import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { Connection, Keypair, SendTransactionError } from '@solana/web3.js';
import bs58 from 'bs58';
import { signed, startTestChain, type TestChain, transfer } from '#test/support/solana/chain.ts';

let chain: TestChain;
let payer: Keypair;
beforeAll(async () => {
  chain = await startTestChain();
  payer = await chain.fundWallet({ lamports: 100_000_000_000 });
});
afterEach(() => chain.control.clear());
afterAll(() => chain?.close());

const status = async (signature: string, search = false) =>
  (await chain.connection.getSignatureStatuses([signature], { searchTransactionHistory: search })).value[0];

test('the status of a transaction goes from processed to confirmed to finalized', async () => {
  await chain.control.pause();
  const signature = await chain.send([transfer(payer, Keypair.generate().publicKey, 1_000_000)], [payer]);
  const { slot } = await chain.control.status();
  expect(await status(signature)).toEqual({ slot, confirmations: 0, err: null, status: { Ok: null }, confirmationStatus: 'processed' });
  await chain.control.advance(1);
  expect(await status(signature)).toMatchObject({ slot, confirmations: 1, confirmationStatus: 'confirmed' });
  await chain.control.advance(6);
  expect(await status(signature)).toMatchObject({ confirmations: 7, confirmationStatus: 'confirmed' });
  await chain.control.advance(1);
  expect(await status(signature)).toMatchObject({ slot, confirmations: null, confirmationStatus: 'finalized' });
});

test('reads return the state at the requested commitment', async () => {
  await chain.control.pause();
  const to = Keypair.generate().publicKey;
  const balances = async () => [
    await chain.connection.getBalance(to, 'processed'),
    await chain.connection.getBalance(to, 'confirmed'),
    await chain.connection.getBalance(to, 'finalized'),
  ];
  await chain.send([transfer(payer, to, 1_000_000)], [payer]);
  expect(await balances()).toEqual([1_000_000, 0, 0]);
  await chain.control.advance(1);
  await chain.send([transfer(payer, to, 500_000)], [payer]);
  expect(await balances()).toEqual([1_500_000, 1_000_000, 0]);
  await chain.control.advance(7);
  expect(await balances()).toEqual([1_500_000, 1_500_000, 1_000_000]);
  await chain.control.advance(1);
  expect(await balances()).toEqual([1_500_000, 1_500_000, 1_500_000]);
});

test('a transaction with a failed instruction lands as an error and changes nothing but the fee', async () => {
  const poor = await chain.fundWallet({ lamports: 10_000_000 });
  const to = Keypair.generate().publicKey;
  const signature = await chain.send([transfer(poor, to, 1_000_000), transfer(poor, to, 1_000_000_000)], [poor]);
  const err = { InstructionError: [1, { Custom: 1 }] };
  expect(await status(signature)).toMatchObject({ err, status: { Err: err } });
  expect(await chain.connection.getBalance(poor.publicKey, 'processed')).toBe(10_000_000 - 5_000);
  expect(await chain.connection.getBalance(to, 'processed')).toBe(0);
  await chain.control.advance(9);
  const read = await chain.connection.getTransaction(signature, { commitment: 'finalized', maxSupportedTransactionVersion: 1 });
  expect(read?.meta).toMatchObject({ err, fee: 5_000, postBalances: expect.arrayContaining([10_000_000 - 5_000]) });
  expect(read?.meta?.logMessages).toContain('Program 11111111111111111111111111111111 failed: custom program error: 0x1');
});

test('a failed preflight returns the logs, and the transaction does not land', async () => {
  const { blockhash } = await chain.connection.getLatestBlockhash();
  const transaction = signed([transfer(payer, Keypair.generate().publicKey, 1_000_000_000_000)], [payer], blockhash);
  const refused = await chain.connection.sendRawTransaction(transaction.serialize()).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(SendTransactionError);
  expect(refused).toMatchObject({
    transactionMessage: 'Transaction simulation failed: Error processing Instruction 0: custom program error: 0x1',
    transactionLogs: expect.arrayContaining(['Program 11111111111111111111111111111111 invoke [1]']),
  });
  expect(await status(bs58.encode(transaction.signature ?? new Uint8Array()))).toBeNull();
});

test('a transaction lands once: a second send is refused by preflight, and without preflight has no effect', async () => {
  const { blockhash } = await chain.connection.getLatestBlockhash();
  const to = Keypair.generate().publicKey;
  const raw = signed([transfer(payer, to, 1_000_000)], [payer], blockhash).serialize();
  const signature = await chain.connection.sendRawTransaction(raw);
  expect(await chain.connection.sendRawTransaction(raw, { skipPreflight: true })).toBe(signature);
  await expect(chain.connection.sendRawTransaction(raw)).rejects.toThrow('This transaction has already been processed');
  expect(await chain.connection.getBalance(to, 'processed')).toBe(1_000_000);
});

test('a transaction with a wrong signature is refused by preflight, and without preflight never lands', async () => {
  const { blockhash } = await chain.connection.getLatestBlockhash();
  const raw = signed([transfer(payer, Keypair.generate().publicKey, 1_000_000)], [payer], blockhash).serialize();
  raw.writeUInt8(raw.readUInt8(10) ^ 1, 10);
  await expect(chain.connection.sendRawTransaction(raw)).rejects.toThrow('signature verification failure');
  const signature = await chain.connection.sendRawTransaction(raw, { skipPreflight: true });
  expect(await status(signature)).toBeNull();
});

test('a transaction whose payer cannot pay the fee does not land', async () => {
  const nobody = Keypair.generate();
  const signature = await chain.send([transfer(nobody, payer.publicKey, 1)], [nobody]);
  expect(await status(signature)).toBeNull();
  const { blockhash } = await chain.connection.getLatestBlockhash();
  const raw = signed([transfer(nobody, payer.publicKey, 1)], [nobody], blockhash).serialize();
  await expect(chain.connection.sendRawTransaction(raw)).rejects.toThrow('Attempt to debit an account but found no record of a prior credit.');
});

test('preflight checks the blockhash at the preflight commitment', async () => {
  await chain.control.pause();
  const { blockhash } = await chain.connection.getLatestBlockhash('confirmed');
  const raw = signed([transfer(payer, Keypair.generate().publicKey, 1_000_000)], [payer], blockhash).serialize();
  await expect(chain.connection.sendRawTransaction(raw, { preflightCommitment: 'finalized' })).rejects.toThrow('Blockhash not found');
  await chain.connection.sendRawTransaction(raw, { preflightCommitment: 'confirmed' });
});

test('getSignatureStatuses takes up to 256 signatures and finds old ones only with searchTransactionHistory', async () => {
  const signature = await chain.send([transfer(payer, Keypair.generate().publicKey, 1_000_000)], [payer]);
  await chain.control.advance(320);
  expect(await status(signature)).toBeNull();
  expect(await status(signature, true)).toMatchObject({ confirmationStatus: 'finalized' });
  const many = Array.from({ length: 257 }, () => signature);
  await expect(chain.connection.getSignatureStatuses(many)).rejects.toThrow('Too many inputs provided; max 256');
  expect((await chain.connection.getSignatureStatuses(many.slice(1), { searchTransactionHistory: true })).value).toHaveLength(256);
});

test('requestAirdrop lands as a transaction', async () => {
  const to = Keypair.generate().publicKey;
  const connection = new Connection(chain.localnet.url, 'processed');
  const [first, second] = await Promise.all([connection.requestAirdrop(to, 2_000_000), connection.requestAirdrop(to, 2_000_000)]);
  expect(first).not.toBe(second);
  expect(await status(first)).toMatchObject({ err: null });
  expect(await connection.getBalance(to)).toBe(4_000_000);
});
