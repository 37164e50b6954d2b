import { createHash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { ed25519 } from '@noble/curves/ed25519.js';
import { constantTimeEqual } from '#lib/constant-time-equal.ts';
import { verifyStrict } from '#lib/sign-in/ed25519.ts';
import { MalformedTransaction, readMemoTransaction } from '#lib/sign-in/memo-transaction.ts';
import { extractNonce, renderSignIn } from '#lib/sign-in/siws.ts';
import { signInParts, transaction } from '#test/support/solana/memo-transaction.ts';
import { createWallet, signInText } from '#test/support/wallet.ts';

const INPUT = {
  domain: 'localhost:3000',
  statement: 'Sign in to Coinop.',
  uri: 'http://localhost:3000',
  version: '1',
  chainId: 'solana:mainnet',
  nonce: 'k3XhQ9vT2mZr7LwB5cNf8JpD',
  issuedAt: '2026-11-21T12:00:00.000Z',
  expirationTime: '2026-11-21T12:05:00.000Z',
} as const;
const L = 2n ** 252n + 27742317777372353535851937790883648493n;

/** Returns the eight points of small order, by multiplying a point outside the prime-order subgroup by the order of that subgroup. */
function smallOrderPoints(): Uint8Array[] {
  for (let i = 0; ; i++) {
    try {
      const point = ed25519.Point.fromBytes(Uint8Array.of(...new Uint8Array(31).fill(i), 0));
      const torsion = point.multiplyUnsafe(L - 1n).add(point);
      if (torsion.double().double().equals(ed25519.Point.ZERO)) continue;
      const points = [ed25519.Point.ZERO];
      while (points.length < 8) points.push((points.at(-1) ?? torsion).add(torsion));
      return points.map((p) => p.toBytes());
    } catch {
      // No point of the curve has this y.
    }
  }
}

/** Non-canonical encodings of points of small order: y + p where it fits, and x = 0 with the sign bit set. */
const SECOND_ENCODINGS = [
  `ed${'ff'.repeat(30)}7f`,
  `ed${'ff'.repeat(31)}`,
  `ee${'ff'.repeat(30)}7f`,
  `ee${'ff'.repeat(31)}`,
  `01${'00'.repeat(30)}80`,
  `ec${'ff'.repeat(31)}`,
].map((hex) => Uint8Array.from(Buffer.from(hex, 'hex')));

test('the sign-in text equals the text of a wallet for the same input', () => {
  expect(renderSignIn(INPUT, 'ADDRESS')).toBe(
    'localhost:3000 wants you to sign in with your Solana account:\nADDRESS\n\nSign in to Coinop.\n\nURI: http://localhost:3000\nVersion: 1\n' +
      'Chain ID: solana:mainnet\nNonce: k3XhQ9vT2mZr7LwB5cNf8JpD\nIssued At: 2026-11-21T12:00:00.000Z\nExpiration Time: 2026-11-21T12:05:00.000Z',
  );
  expect(renderSignIn(INPUT, 'ADDRESS')).toBe(signInText(INPUT, 'ADDRESS'));
});

test('the nonce is extracted only from its own line', () => {
  expect(extractNonce(renderSignIn(INPUT, 'ADDRESS'))).toBe(INPUT.nonce);
  expect(extractNonce(`Nonce: ${INPUT.nonce}`)).toBeNull();
  expect(extractNonce(`x\nRequest ID: ${INPUT.nonce}\n`)).toBeNull();
  expect(extractNonce(`x\nNonce: ${INPUT.nonce}x\n`)).toBeNull();
});

test('constantTimeEqual compares texts byte for byte', () => {
  expect(constantTimeEqual('é', 'é')).toBe(true);
  expect(constantTimeEqual('é', 'e\u0301')).toBe(false);
  expect(constantTimeEqual('a', 'a\n')).toBe(false);
});

test('a signature is valid only for its key and message', () => {
  const wallet = createWallet();
  const message = Buffer.from('message');
  const signature = wallet.sign(message);
  expect(verifyStrict(wallet.publicKey, message, signature)).toBe(true);
  expect(verifyStrict(createWallet().publicKey, message, signature)).toBe(false);
  expect(verifyStrict(wallet.publicKey, Buffer.from('massage'), signature)).toBe(false);
  for (let i = 0; i < 64; i += 7) {
    const changed = Uint8Array.from(signature);
    changed[i] = (changed[i] ?? 0) ^ 1;
    expect(verifyStrict(wallet.publicKey, message, changed)).toBe(false);
  }
});

test('a signature changed by adding the group order to s is rejected', () => {
  const wallet = createWallet();
  const message = Buffer.from('message');
  const signature = wallet.sign(message);
  const s = BigInt(`0x${Buffer.from(signature.slice(32)).reverse().toString('hex')}`) + L;
  const forged = Buffer.concat([signature.slice(0, 32), Buffer.from(s.toString(16).padStart(64, '0'), 'hex').reverse()]);
  expect(verifyStrict(wallet.publicKey, message, forged)).toBe(false);
});

test('keys of small order are rejected in every encoding and with every signature', () => {
  const points = smallOrderPoints();
  expect(new Set(points.map((p) => Buffer.from(p).toString('hex'))).size).toBe(8);
  expect(points.some((p) => p.every((byte) => byte === 0))).toBe(true);
  let takenByOthers = 0;
  for (const key of [...points, ...SECOND_ENCODINGS]) {
    for (let i = 0; i < 8; i++) {
      const message = Buffer.from(`message ${i}`);
      for (const r of points) {
        const signature = Buffer.concat([r, new Uint8Array(32)]);
        if (ed25519.verify(signature, message, key, { zip215: true })) takenByOthers++;
        expect(verifyStrict(key, message, signature)).toBe(false);
      }
    }
  }
  // At least one of these signatures is accepted by other implementations, so the test is meaningful.
  expect(takenByOthers).toBeGreaterThan(0);
});

test('a signature whose R is of small order is rejected although it fulfils the equation', () => {
  const points = smallOrderPoints();
  const secret = 7n;
  const torsion = points.map((bytes) => ed25519.Point.fromBytes(bytes)).find((point) => !point.double().double().equals(ed25519.Point.ZERO));
  // The key is secret × B plus a point of order 8, so R must cancel a part of small order that depends on the message.
  const key = ed25519.Point.BASE.multiply(secret)
    .add(torsion ?? ed25519.Point.ZERO)
    .toBytes();
  const accepted = new Set<string>();
  for (let i = 0; i < 40; i++) {
    const message = Buffer.from(`message ${i}`);
    for (const r of points) {
      const digest = createHash('sha512').update(r).update(key).update(message).digest().reverse();
      const s = ((BigInt(`0x${digest.toString('hex')}`) % L) * secret) % L;
      const signature = Buffer.concat([r, Buffer.from(s.toString(16).padStart(64, '0'), 'hex').reverse()]);
      const name = Buffer.from(r).toString('hex');
      if (!accepted.has(name) && ed25519.verify(signature, message, key, { zip215: true })) accepted.add(name);
      expect(verifyStrict(key, message, signature)).toBe(false);
    }
  }
  // Other implementations accept such a signature for each R of small order, so the test is meaningful.
  expect(accepted.size).toBe(8);
});

test('invalid keys and signatures return false without an exception', () => {
  const wallet = createWallet();
  const message = Buffer.from('message');
  for (const key of [new Uint8Array(31), new Uint8Array(33), new Uint8Array(32).fill(0xff), Uint8Array.of(2, ...new Uint8Array(31))]) {
    expect(verifyStrict(key, message, wallet.sign(message))).toBe(false);
  }
  expect(verifyStrict(wallet.publicKey, message, new Uint8Array(63))).toBe(false);
});

test('a signature of another implementation is valid', () => {
  const secret = ed25519.utils.randomSecretKey();
  const message = Buffer.from('message');
  expect(verifyStrict(ed25519.getPublicKey(secret), message, ed25519.sign(message, secret))).toBe(true);
});

test('a truncated memo transaction or one with trailing bytes is rejected', () => {
  const wallet = createWallet();
  for (const version of ['legacy', 0] as const) {
    const bytes = transaction({ ...signInParts(INPUT, wallet), version });
    const read = readMemoTransaction(bytes, wallet.publicKey);
    expect(read?.memo.toString()).toBe(signInText(INPUT, wallet.address));
    expect(read && verifyStrict(wallet.publicKey, read.message, read.signature)).toBe(true);
    for (let length = 0; length < bytes.length; length++) {
      expect(() => readMemoTransaction(bytes.subarray(0, length), wallet.publicKey)).toThrow(MalformedTransaction);
    }
    expect(() => readMemoTransaction(Buffer.concat([bytes, Buffer.of(0)]), wallet.publicKey)).toThrow(MalformedTransaction);
  }
});

test('a transaction with a length not in its shortest form is rejected', () => {
  const wallet = createWallet();
  const bytes = transaction(signInParts(INPUT, wallet));
  expect(() => readMemoTransaction(Buffer.concat([Buffer.of(0x81, 0x00), bytes.subarray(1)]), wallet.publicKey)).toThrow(MalformedTransaction);
});

test('a transaction of an unknown version is rejected', () => {
  const wallet = createWallet();
  const bytes = transaction({ ...signInParts(INPUT, wallet), version: 1 });
  expect(() => readMemoTransaction(bytes, wallet.publicKey)).toThrow(MalformedTransaction);
});
