import { describe, expect, test } from '@jest/globals';
import { TransactionMessage, VersionedTransaction } from '@solana/web3.js';
import { accountEntry, deriveAddress, type Instruction, instruction, newSigner, parseAddress, type Signer } from '#platform/solana/primitives.ts';
import { localKey } from '#platform/solana/signers/index.ts';
import {
  buildTransaction,
  computeBudget,
  encodeUnsigned,
  fitsIntoTransaction,
  signTransaction,
  signWithRoles,
} from '#platform/solana/transactions.ts';

const [payer, second, third] = [newSigner(), newSigner(), newSigner()];
const others = Array.from({ length: 6 }, () => newSigner().publicKey);
const blockhash = newSigner().publicKey.toBase58();
const program = newSigner().publicKey;

const with2 = (data: Buffer): Instruction[] => [
  ...computeBudget(200_000, 7),
  instruction(
    program,
    [
      ...others.map((address, i) => accountEntry(address, i % 2 === 0)),
      accountEntry(second.publicKey, false, true),
      // Named again: writable, and the fee payer as a read-only account.
      accountEntry(others[1] ?? program, true),
      accountEntry(payer.publicKey, false),
    ],
    data,
  ),
  instruction(others[2] ?? program, [accountEntry(third.publicKey, true, true), accountEntry(program, false)], Buffer.alloc(0)),
];

/** The same transaction, built and signed by web3.js. */
function built(instructions: readonly Instruction[], signers: readonly Signer[] = []): VersionedTransaction {
  const message = new TransactionMessage({ payerKey: payer.publicKey, recentBlockhash: blockhash, instructions: [...instructions] });
  const transaction = new VersionedTransaction(message.compileToLegacyMessage());
  if (signers.length > 0) transaction.sign([...signers]);
  return transaction;
}

describe('a built transaction', () => {
  test.each([0, 1, 127, 128, 300])('has the bytes that web3.js builds, with %i bytes of instruction data', async (length) => {
    const instructions = with2(Buffer.alloc(length, 3));
    const transaction = buildTransaction(payer.publicKey, instructions, blockhash);
    const expected = built(instructions, [payer, second, third]);
    expect(transaction.message.equals(expected.message.serialize())).toBe(true);
    const writable = expected.message.staticAccountKeys.filter((_, i) => expected.message.isAccountWritable(i));
    expect(transaction.writable.map(String)).toEqual(writable.map(String));
    expect(transaction.signers.map(String)).toEqual([payer, third, second].map((signer) => String(signer.publicKey)));
    expect(signTransaction(transaction, [second, third, payer]).bytes.equals(expected.serialize())).toBe(true);
    expect((await signWithRoles(transaction, [third, payer, second].map(localKey))).bytes.equals(expected.serialize())).toBe(true);
    expect(encodeUnsigned(transaction)).toBe(Buffer.from(built(instructions).serialize()).toString('base64'));
  });

  test('is refused when a key is missing, is not a signer, or is given twice', async () => {
    const transaction = buildTransaction(payer.publicKey, with2(Buffer.alloc(9)), blockhash);
    const sign = async (...signers: Signer[]) => await signWithRoles(transaction, signers.map(localKey));
    await expect(sign(payer, second)).rejects.toThrow('needs 3 signatures');
    await expect(sign(payer, second, newSigner())).rejects.toThrow('2 of the 3 given keys');
    await expect(sign(payer, second, second)).rejects.toThrow('needs 3 signatures');
    expect(() => signTransaction(transaction, [payer])).toThrow('needs 3 signatures');
  });

  test('fits up to 1,232 bytes, and a longer one is not serialized', () => {
    const lengthAt = (data: number) => 1 + 3 * 64 + buildTransaction(payer.publicKey, with2(Buffer.alloc(data)), blockhash).message.length;
    const longest = 300 + 1_232 - lengthAt(300);
    expect(lengthAt(longest)).toBe(1_232);
    expect(fitsIntoTransaction(payer.publicKey, with2(Buffer.alloc(longest)))).toBe(true);
    expect(fitsIntoTransaction(payer.publicKey, with2(Buffer.alloc(longest + 1)))).toBe(false);
    expect(fitsIntoTransaction(payer.publicKey, with2(Buffer.alloc(50_000)))).toBe(false);
    expect(() => encodeUnsigned(buildTransaction(payer.publicKey, with2(Buffer.alloc(longest + 1)), blockhash))).toThrow(
      'at most 1232 bytes, not 1233',
    );
  });
});

test('an address is derived from the joined bytes of its seeds, each time the same', () => {
  const address = parseAddress('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA');
  const derive = (...seeds: string[]) => deriveAddress(address, ...seeds.map((seed) => Buffer.from(seed))).toBase58();
  expect(derive('ab', 'c')).toBe(derive('ab', 'c'));
  // The chain joins the seeds, so these are one address there, too.
  expect(derive('a', 'bc')).toBe(derive('ab', 'c'));
  expect(derive('abd')).not.toBe(derive('abc'));
});
