import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { signInParts, type TransactionParts, transaction } from '#test/support/solana/memo-transaction.ts';
import { cookiesOf, createWallet, requestNonce, type SignInInput, send, signInText, type TestWallet } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t.close());

const verify = (wallet: TestWallet, bytes: Buffer) =>
  send(t, '/auth/verify', { json: { publicKey: wallet.address, transaction: bytes.toString('base64') } });

type Change = (right: TransactionParts, wallet: TestWallet, input: SignInInput) => Partial<TransactionParts>;

test.each(['legacy', 0] as const)('a wallet signs in with a %s transaction that can never land', async (version) => {
  const wallet = createWallet();
  const response = await verify(wallet, transaction({ ...signInParts(await requestNonce(t), wallet), version }));
  expect(response.status).toBe(200);
  const me = await send(t, '/me', { headers: { Cookie: cookiesOf(response) } });
  expect(await me.json()).toMatchObject({ wallet: wallet.address });
});

const memo = (right: TransactionParts) => right.instructions[0]?.data ?? new Uint8Array();

test.each<[string, Change]>([
  ['two signers', (_right, wallet) => ({ signers: [wallet, createWallet()], instructions: [{ program: 2, data: new Uint8Array() }] })],
  ['another fee payer', (right, wallet) => ({ signers: [createWallet(), wallet], instructions: [{ program: 2, data: memo(right) }] })],
  ['another wallet as its signer', () => ({ signers: [createWallet()] })],
  ['a read-only signer', () => ({ header: [1, 1, 1] })],
  ['a writable program', () => ({ header: [1, 0, 0] })],
  ['no instruction', () => ({ instructions: [] })],
  ['a second instruction', (right) => ({ instructions: [...right.instructions, { program: 1, data: Buffer.from('more') }] })],
  ['another program', () => ({ keys: [randomBytes(32)] })],
  ['the payer as its program', (right) => ({ instructions: [{ program: 0, data: memo(right) }] })],
  ['an additional account', (right) => ({ keys: [...(right.keys ?? []), randomBytes(32), randomBytes(32)] })],
  ['an account in its memo', (right) => ({ instructions: [{ program: 1, accounts: [0], data: memo(right) }] })],
  ['a real blockhash', () => ({ blockhash: randomBytes(32) })],
  ['an address lookup', () => ({ version: 0, lookups: [Buffer.concat([randomBytes(32), Buffer.of(1, 0, 0)])] })],
  [
    'a text that names another wallet',
    (_r, _w, input) => ({ instructions: [{ program: 1, data: Buffer.from(signInText(input, createWallet().address)) }] }),
  ],
  ['only the nonce as its memo', (_r, _w, input) => ({ instructions: [{ program: 1, data: Buffer.from(input.nonce) }] })],
  ['a longer text', (right) => ({ instructions: [{ program: 1, data: Buffer.concat([memo(right), Buffer.from('\n')]) }] })],
  ['a memo that is not UTF-8', () => ({ instructions: [{ program: 1, data: Buffer.of(0xff, 0xfe) }] })],
])('a transaction with %s is refused', async (_fault, change) => {
  const wallet = createWallet();
  const input = await requestNonce(t);
  const right = signInParts(input, wallet);
  const response = await verify(wallet, transaction({ ...right, ...change(right, wallet, input) }));
  expect(response.status).toBe(401);
  expect(response.headers.getSetCookie()).toEqual([]);
  expect(await response.json()).toEqual({ error: 'the signed transaction is not accepted, sign in again with a new nonce' });
  expect((await verify(wallet, transaction(right))).status).toBe(200);
});

test('a changed signature is refused', async () => {
  const wallet = createWallet();
  const bytes = transaction(signInParts(await requestNonce(t), wallet));
  bytes[5] = (bytes[5] ?? 0) ^ 1;
  expect((await verify(wallet, bytes)).status).toBe(401);
});

test('a signature of the text is not valid for the transaction, and the reverse', async () => {
  const wallet = createWallet();
  const input = await requestNonce(t);
  const bytes = transaction(signInParts(input, wallet));
  const text = signInText(input, wallet.address);
  const signature = bytes.subarray(1, 65).toString('base64');
  expect((await send(t, '/auth/verify', { json: { publicKey: wallet.address, message: text, signature } })).status).toBe(401);
  bytes.set(wallet.sign(Buffer.from(text)), 1);
  expect((await verify(wallet, bytes)).status).toBe(401);
});

test('a transaction signs in once, and its nonce is not valid for a text afterwards', async () => {
  const wallet = createWallet();
  const input = await requestNonce(t);
  const bytes = transaction(signInParts(input, wallet));
  expect((await verify(wallet, bytes)).status).toBe(200);
  expect((await verify(wallet, bytes)).status).toBe(401);
});

test.each<[string, (bytes: Buffer) => Buffer]>([
  ['truncated', (bytes) => bytes.subarray(0, -1)],
  ['followed by a byte', (bytes) => Buffer.concat([bytes, Buffer.of(0)])],
  ['of an unknown version', (bytes) => Buffer.concat([bytes.subarray(0, 65), Buffer.of(0x81), bytes.subarray(65)])],
  ['without the signature it requires', (bytes) => Buffer.concat([Buffer.of(0), bytes.subarray(65)])],
  ['one byte long', () => Buffer.of(1)],
])('a transaction that is %s gives 400 with the name of the field', async (_fault, change) => {
  const wallet = createWallet();
  const response = await verify(wallet, change(transaction(signInParts(await requestNonce(t), wallet))));
  expect(response.status).toBe(400);
  expect(await response.json()).toEqual({ error: 'transaction must be a signed legacy or version 0 transaction' });
});
