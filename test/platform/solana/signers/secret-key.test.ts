import { expect, test } from '@jest/globals';
import bs58 from 'bs58';
import { newSigner, parseSecretKey, signerFromSeed } from '#platform/solana/primitives.ts';

const key = newSigner();
const jsonOf = (bytes: Iterable<number>) => JSON.stringify([...bytes]);

test('a secret key is read from a JSON array of 64 numbers, or from base58', () => {
  expect(parseSecretKey(jsonOf(key.secretKey))?.publicKey).toEqual(key.publicKey);
  expect(parseSecretKey(bs58.encode(key.secretKey))?.publicKey).toEqual(key.publicKey);
});

test('a number that is no byte is refused, and does not stand for the byte with the same lowest bits', () => {
  const [zeros, ones] = [signerFromSeed(Buffer.alloc(32, 0)).secretKey, signerFromSeed(Buffer.alloc(32, 255)).secretKey];
  expect(parseSecretKey(jsonOf(zeros))).not.toBeNull();
  expect(parseSecretKey(jsonOf(ones))).not.toBeNull();
  expect(parseSecretKey(jsonOf([256, ...zeros.subarray(1)]))).toBeNull();
  expect(parseSecretKey(jsonOf([0.5, ...zeros.subarray(1)]))).toBeNull();
  expect(parseSecretKey(jsonOf([-1, ...ones.subarray(1)]))).toBeNull();
  expect(parseSecretKey(JSON.stringify(['0', ...zeros.subarray(1)]))).toBeNull();
});

test.each([
  ['63 bytes long', jsonOf(key.secretKey.subarray(1))],
  ['65 bytes long', jsonOf([...key.secretKey, 0])],
  ['the seed alone, in base58', bs58.encode(key.secretKey.subarray(0, 32))],
  ['a key whose public half does not match its secret half', jsonOf([...key.secretKey.subarray(0, 32), ...newSigner().publicKey.toBytes()])],
  ['an array that ends early', jsonOf(key.secretKey).slice(0, -1)],
  ['a word', 'secret'],
  ['empty', ''],
])('a text is refused as a secret key when it is %s', (_what, text) => {
  expect(parseSecretKey(text)).toBeNull();
});
