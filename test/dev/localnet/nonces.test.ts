import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { Keypair, NONCE_ACCOUNT_LENGTH, type NonceAccount, SystemProgram, type TransactionInstruction } from '@solana/web3.js';
import { signed, startTestChain, type TestChain, transfer } from '#test/support/solana/chain.ts';

let chain: TestChain;
let payer: Keypair;
let account: Keypair;
beforeAll(async () => {
  chain = await startTestChain();
  payer = await chain.fundWallet({ lamports: 100_000_000_000 });
  account = await createNonce();
});
afterEach(() => chain.control.clear());
afterAll(() => chain?.close());

async function createNonce(): Promise<Keypair> {
  const nonce = Keypair.generate();
  const lamports = await chain.connection.getMinimumBalanceForRentExemption(NONCE_ACCOUNT_LENGTH);
  const accounts = { fromPubkey: payer.publicKey, noncePubkey: nonce.publicKey, authorizedPubkey: payer.publicKey };
  await chain.send(SystemProgram.createNonceAccount({ ...accounts, lamports }).instructions, [payer, nonce]);
  await chain.control.advance(2);
  return nonce;
}

async function nonceValue(commitment: 'processed' | 'finalized' = 'processed'): Promise<string> {
  const nonce: NonceAccount | null = await chain.connection.getNonce(account.publicKey, commitment);
  return nonce?.nonce ?? '';
}

const advance = (authority = payer) => SystemProgram.nonceAdvance({ noncePubkey: account.publicKey, authorizedPubkey: authority.publicKey });

const status = async (signature: string) => (await chain.connection.getSignatureStatus(signature, { searchTransactionHistory: true })).value;

const sendAt = (nonce: string, instructions: TransactionInstruction[]) => chain.send([advance(), ...instructions], [payer], nonce);

test('a nonce replaces the blockhash of a transaction and does not expire', async () => {
  const value = await nonceValue();
  const to = Keypair.generate().publicKey;
  await chain.control.advance(1_000);
  expect(await nonceValue()).toBe(value);
  const signature = await sendAt(value, [transfer(payer, to, 1_000_000)]);
  expect(await status(signature)).toMatchObject({ err: null });
  expect(await chain.connection.getBalance(to, 'processed')).toBe(1_000_000);
  expect(await nonceValue()).not.toBe(value);
});

test('only one of several transactions with the same nonce value lands', async () => {
  await chain.control.advance(1);
  const value = await nonceValue();
  const to = Keypair.generate().publicKey;
  const signatures = [
    await sendAt(value, [transfer(payer, to, 1_000_000)]),
    await sendAt(value, [transfer(payer, to, 2_000_000)]),
    await sendAt(value, []),
  ];
  await chain.control.advance(3);
  const again = signed([advance(), transfer(payer, to, 3_000_000)], [payer], value).serialize();
  await expect(chain.connection.sendRawTransaction(again)).rejects.toThrow('Blockhash not found');
  expect((await Promise.all(signatures.map(status))).map((found) => found !== null)).toEqual([true, false, false]);
  expect(await chain.connection.getBalance(to, 'processed')).toBe(1_000_000);
});

test('a failed transaction advances its nonce and is charged the fee', async () => {
  await chain.control.advance(1);
  const value = await nonceValue();
  const before = await chain.connection.getBalance(payer.publicKey, 'processed');
  const signature = await sendAt(value, [transfer(payer, Keypair.generate().publicKey, 1_000_000_000_000_000)]);
  expect(await status(signature)).toMatchObject({ err: { InstructionError: [1, { Custom: 1 }] } });
  expect(await chain.connection.getBalance(payer.publicKey, 'processed')).toBe(before - 5_000);
  expect(await nonceValue()).not.toBe(value);
  await chain.control.advance(2);
  expect(await status(await sendAt(value, [transfer(payer, Keypair.generate().publicKey, 1_000_000)]))).toBeNull();
  expect(await status(await sendAt(await nonceValue(), [transfer(payer, Keypair.generate().publicKey, 1_000_000)]))).toMatchObject({ err: null });
});

test('a nonce can be advanced once per block, to a value that derives from the previous block', async () => {
  await chain.control.pause();
  await chain.control.advance(1);
  const first = await nonceValue();
  await sendAt(first, []);
  const second = await nonceValue();
  expect(await status(await sendAt(second, []))).toBeNull();
  expect(await nonceValue()).toBe(second);
  await chain.control.advance(1);
  expect(await status(await sendAt(second, []))).toMatchObject({ err: null });

  // Nonces that are advanced in the same block get the same value, because the value derives from the block.
  const firstAccount = account;
  account = await createNonce();
  const others = await nonceValue();
  const theirs = account;
  account = firstAccount;
  await sendAt(await nonceValue(), []);
  const moved = await nonceValue();
  account = theirs;
  await sendAt(others, []);
  expect(await nonceValue()).toBe(moved);
  account = firstAccount;
});

test('a nonce read at finalized is older than one read at processed', async () => {
  await chain.control.advance(20);
  await chain.control.pause();
  const value = await nonceValue('finalized');
  await sendAt(value, []);
  expect(await nonceValue('finalized')).toBe(value);
  await chain.control.advance(8);
  expect(await nonceValue('finalized')).not.toBe(value);
});

test('only the authority can advance a nonce, and the advance must be the first instruction', async () => {
  await chain.control.advance(2);
  const value = await nonceValue();
  const stranger = await chain.fundWallet({ lamports: 1_000_000_000 });
  const refused = await chain.send([advance(stranger), transfer(stranger, payer.publicKey, 1)], [stranger], value);
  expect(await status(refused)).toBeNull();
  expect(await nonceValue()).toBe(value);
  const later = await chain.send([transfer(payer, stranger.publicKey, 1), advance()], [payer], value);
  expect(await status(later)).toBeNull();
});

test('a nonce that is advanced with a recent blockhash can also be advanced only once per block', async () => {
  await chain.control.pause();
  await chain.control.advance(2);
  const { blockhash } = await chain.connection.getLatestBlockhash('processed');
  const value = await nonceValue();
  const signature = await chain.send([advance()], [payer], blockhash);
  expect(await status(signature)).toMatchObject({ err: null });
  const moved = await nonceValue();
  expect(moved).not.toBe(value);
  // A second advance in the same block fails; in a later block the same blockhash works.
  const twice = await chain.send([advance(), transfer(payer, payer.publicKey, 1)], [payer], blockhash);
  expect(await status(twice)).toMatchObject({ err: { InstructionError: [0, { Custom: 7 }] } });
  expect(await nonceValue()).toBe(moved);
  await chain.control.advance(1);
  const later = await chain.send([advance(), transfer(payer, payer.publicKey, 2)], [payer], blockhash);
  expect(await status(later)).toMatchObject({ err: null });
  expect(await nonceValue()).not.toBe(moved);
});
