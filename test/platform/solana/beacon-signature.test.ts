import { createHash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { bls12_381 as bls } from '@noble/curves/bls12-381.js';
import { type BeaconChain, QUICKNET } from '#lib/draw/beacon-chain.ts';
import { randomnessOf } from '#lib/draw/seed.ts';
import { verifySignature } from '#platform/solana/beacon/index.ts';

/** A round that quicknet has published. */
const ROUND = 1000;
const SIGNATURE = 'b44679b9a59af2ec876b1a6b1ad52ea9b1615fc3982b19576350f93447cb1125e342b73a8dd2bacbe47e4b6b63ed5e39';
const RANDOMNESS = 'fe290beca10872ef2fb164d2aa4442de4566183ec51c56ff3cd603d930e54fdd';

const { Fp } = bls.fields;
/** Flags in the first byte of a point: compressed encoding, and the larger y. */
const COMPRESSED = 0x80;
const GREATER = 0x20;

/** Encodes x in 48 bytes, with flags. */
function encode(x: bigint, flags: number): string {
  const bytes = Buffer.from(x.toString(16).padStart(96, '0'), 'hex');
  bytes[0] = (bytes[0] ?? 0) | flags;
  return bytes.toString('hex');
}

const SECRET = new Uint8Array(32).fill(7);
const TEST_CHAIN: BeaconChain = { ...QUICKNET, publicKey: Buffer.from(bls.shortSignatures.getPublicKey(SECRET).toBytes()).toString('hex') };
function signed(round: number): string {
  const message = Buffer.alloc(8);
  message.writeBigUInt64BE(BigInt(round));
  const hashed = bls.shortSignatures.hash(createHash('sha256').update(message).digest(), 'BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_');
  return Buffer.from(bls.shortSignatures.sign(hashed, SECRET).toBytes()).toString('hex');
}

test('a published round of quicknet is valid, and its randomness is the hash of its signature', () => {
  expect(verifySignature(QUICKNET, ROUND, SIGNATURE)).toBe(true);
  expect(randomnessOf(SIGNATURE)).toBe(RANDOMNESS);
});

test('a signature is not valid for another round or another key', () => {
  for (const round of [999, 1001, 0, -1000, 1000.5, Number.NaN, 2 ** 64]) expect(verifySignature(QUICKNET, round, SIGNATURE)).toBe(false);
  expect(verifySignature(TEST_CHAIN, ROUND, SIGNATURE)).toBe(false);
  expect(verifySignature(TEST_CHAIN, ROUND, signed(ROUND))).toBe(true);
});

test('a signature with a changed byte is not valid', () => {
  for (let at = 0; at < 48; at += 5) {
    const bytes = Buffer.from(SIGNATURE, 'hex');
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    expect(verifySignature(QUICKNET, ROUND, bytes.toString('hex'))).toBe(false);
  }
});

test('only the compressed lower-case encoding of a signature is valid', () => {
  const negated = Buffer.from(SIGNATURE, 'hex');
  negated[0] = (negated[0] ?? 0) ^ GREATER;
  const uncompressed = bls.G1.Point.fromHex(SIGNATURE).toHex(false);
  for (const other of [
    negated.toString('hex'),
    uncompressed,
    SIGNATURE.toUpperCase(),
    `0x${SIGNATURE}`,
    `${SIGNATURE}00`,
    SIGNATURE.slice(2),
    ` ${SIGNATURE}`,
    '',
    'g'.repeat(96),
    // Without the flag for the compressed encoding.
    encode(BigInt(`0x${SIGNATURE}`) & (2n ** 381n - 1n), 0),
  ]) {
    expect(verifySignature(QUICKNET, ROUND, other)).toBe(false);
  }
});

test('an x with the field order added is not a valid encoding', () => {
  // Only a small x plus the field order fits into 381 bits, so the test searches a round with a small x.
  const small = (signature: string) => (BigInt(`0x${signature}`) & (2n ** 381n - 1n)) + Fp.ORDER < 2n ** 381n;
  const round = Array.from({ length: 60 }, (_, i) => i + 1).find((candidate) => small(signed(candidate))) ?? 0;
  const signature = signed(round);
  expect(verifySignature(TEST_CHAIN, round, signature)).toBe(true);
  const flags = Number.parseInt(signature.slice(0, 2), 16) & 0xe0;
  const x = BigInt(`0x${signature}`) & (2n ** 381n - 1n);
  expect(encode(x, flags)).toBe(signature);
  expect(verifySignature(TEST_CHAIN, round, encode(x + Fp.ORDER, flags))).toBe(false);
});

test('the zero point, and points outside the subgroup or off the curve, are not valid signatures', () => {
  const zero = `c0${'00'.repeat(47)}`;
  expect(verifySignature(QUICKNET, ROUND, zero)).toBe(false);
  const isOnCurve = (x: bigint) => {
    try {
      return Fp.sqrt(Fp.add(Fp.pow(x, 3n), 4n)) !== undefined;
    } catch {
      return false;
    }
  };
  const xs = Array.from({ length: 40 }, (_, i) => BigInt(i + 1));
  const [on, off] = [xs.filter(isOnCurve), xs.filter((x) => !isOnCurve(x))];
  expect(Math.min(on.length, off.length)).toBeGreaterThan(5);
  // One in 2^125 points of the curve is in the subgroup, so none of these is.
  const outside = on.map((x) => bls.G1.Point.fromAffine({ x, y: Fp.sqrt(Fp.add(Fp.pow(x, 3n), 4n)) })).filter((point) => !point.isTorsionFree());
  expect(outside).toHaveLength(on.length);
  for (const x of [...on.slice(0, 5), ...off.slice(0, 5)]) expect(verifySignature(QUICKNET, ROUND, encode(x, COMPRESSED))).toBe(false);
  // The pairing check accepts a valid signature plus a point of small order; only the subgroup check rejects it.
  const order = bls.G1.Point.Fn.ORDER;
  const small = outside.map((point) => timesOrder(point, order)).find((point) => !point.is0());
  if (small === undefined) throw new Error('no point of small order found');
  const shifted = bls.G1.Point.fromHex(SIGNATURE).add(small);
  expect(shifted.isTorsionFree()).toBe(false);
  const written = ({ x, y }: { x: bigint; y: bigint }) => encode(x, COMPRESSED | (y * 2n > Fp.ORDER ? GREATER : 0));
  expect(written(bls.G1.Point.fromHex(SIGNATURE).toAffine())).toBe(SIGNATURE);
  expect(verifySignature(QUICKNET, ROUND, written(shifted.toAffine()))).toBe(false);
});

type Point = InstanceType<typeof bls.G1.Point>;

/** Multiplies a point by a scalar, without reducing the scalar by the group order. */
function timesOrder(point: Point, times: bigint): Point {
  let [sum, power] = [bls.G1.Point.ZERO, point];
  for (let left = times; left > 0n; left >>= 1n) {
    if (left & 1n) sum = sum.add(power);
    power = power.double();
  }
  return sum;
}

test('an invalid public key throws', () => {
  for (const publicKey of [`c0${'00'.repeat(95)}`, '83'.repeat(96), QUICKNET.publicKey.slice(2)]) {
    expect(() => verifySignature({ ...QUICKNET, publicKey }, ROUND, SIGNATURE)).toThrow();
  }
});

test('a verification takes less than 100 ms', () => {
  verifySignature(QUICKNET, ROUND, SIGNATURE);
  const times = Array.from({ length: 8 }, () => {
    const began = performance.now();
    verifySignature(QUICKNET, ROUND, SIGNATURE);
    return performance.now() - began;
  });
  // About 30 ms on an idle machine.
  expect(Math.min(...times)).toBeLessThan(100);
});
