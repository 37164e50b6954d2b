import { randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { MalformedTransaction, readMemoTransaction, signInBlockhash } from '#lib/sign-in/memo-transaction.ts';
import { MEMO_PROGRAM, type TransactionParts, transaction } from '#test/support/solana/memo-transaction.ts';
import { createWallet } from '#test/support/wallet.ts';

const wallet = createWallet();
const other = createWallet();
const data = Buffer.from('a memo');
const blockhash = signInBlockhash('nonce');
const PARTS: TransactionParts = { signers: [wallet], blockhash, instructions: [{ program: 1, data }] };
const read = (parts: Partial<TransactionParts>) => readMemoTransaction(transaction({ ...PARTS, ...parts }), wallet.publicKey);

test('a transaction of one memo is read with its memo, blockhash and signature', () => {
  for (const version of ['legacy', 0] as const) {
    const memo = read({ version });
    expect(memo?.memo).toEqual(data);
    expect(memo?.blockhash).toEqual(blockhash);
    expect(memo && Buffer.from(wallet.sign(memo.message)).equals(memo.signature)).toBe(true);
  }
});

test('the blockhash of a sign-in depends on the nonce', () => {
  expect(signInBlockhash('nonce')).toHaveLength(32);
  expect(signInBlockhash('nonce').equals(signInBlockhash('other'))).toBe(false);
});

test('a transaction with anything except one memo of the payer is not a memo transaction', () => {
  const key = randomBytes(32);
  const others: Partial<TransactionParts>[] = [
    { signers: [other] },
    { signers: [wallet, other], instructions: [{ program: 2, data }] },
    { signers: [wallet, other], keys: [] },
    { keys: [key] },
    { keys: [MEMO_PROGRAM, key] },
    { keys: [] },
    { header: [1, 1, 1] },
    { header: [1, 0, 0] },
    { header: [1, 0, 2] },
    { instructions: [] },
    {
      instructions: [
        { program: 1, data },
        { program: 1, data },
      ],
    },
    { instructions: [{ program: 0, data }] },
    { instructions: [{ program: 2, data }] },
    { instructions: [{ program: 1, accounts: [0], data }] },
    { version: 0, lookups: [Buffer.concat([key, Buffer.of(1, 0, 0)])] },
    { version: 0, lookups: [Buffer.concat([key, Buffer.of(0, 2, 0, 1)])] },
  ];
  for (const parts of others) expect(read(parts)).toBeNull();
});

test('a transaction whose number of signatures does not fit its header is malformed', () => {
  for (const header of [
    [0, 0, 1],
    [2, 0, 1],
  ] as const)
    expect(() => read({ header })).toThrow(MalformedTransaction);
  // Two required signatures, but one key.
  const message = Buffer.concat([Buffer.of(2, 0, 0, 1), wallet.publicKey, blockhash, Buffer.of(0)]);
  const bytes = Buffer.concat([Buffer.of(2), Buffer.alloc(128), message]);
  expect(() => readMemoTransaction(bytes, wallet.publicKey)).toThrow('signatures do not fit the header');
});

test('a memo of up to 65,535 bytes is read, with one, two or three bytes of length', () => {
  for (const length of [0, 1, 127, 128, 16_383, 16_384, 65_535]) {
    const memo = randomBytes(length);
    expect(read({ instructions: [{ program: 1, data: memo }] })?.memo.equals(memo)).toBe(true);
  }
});

test('a length above 65,535, of four bytes, or not in its shortest form is malformed', () => {
  const head = transaction({ ...PARTS, instructions: [] }).subarray(0, -1);
  const withLength = (...bytes: number[]) =>
    readMemoTransaction(Buffer.concat([head, Buffer.of(1, 1, 0, ...bytes), Buffer.alloc(70_000)]), wallet.publicKey);
  expect(() => withLength(0x80, 0x80, 0x04)).toThrow('number not in its shortest form');
  expect(() => withLength(0xff, 0xff, 0x03)).toThrow('trailing bytes');
  expect(() => withLength(0x81, 0x00)).toThrow('number not in its shortest form');
  expect(() => withLength(0x80, 0x80, 0x00)).toThrow('number not in its shortest form');
  expect(() => withLength(0x80, 0x80, 0x80, 0x01)).toThrow('number too long');
});
