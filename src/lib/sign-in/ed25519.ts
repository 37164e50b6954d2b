import { createPublicKey, verify } from 'node:crypto';

/** The prime 2^255 − 19, little endian. A canonical y coordinate is less than this prime. */
const P = Buffer.from(`ed${'ff'.repeat(30)}7f`, 'hex');

/** The y coordinates of all points of small order (1, 2, 4, 8), little endian, without the sign bit of x. */
const SMALL_ORDER_Y = new Set([
  `01${'00'.repeat(31)}`,
  `ec${'ff'.repeat(30)}7f`,
  '00'.repeat(32),
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
]);

/** DER prefix of an ed25519 SubjectPublicKeyInfo; the 32 key bytes follow. */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex');

/** Returns whether 32 bytes encode a y coordinate canonically, and no point of small order has this y coordinate. */
function isCanonicalPoint(point: Uint8Array): boolean {
  const y = Buffer.from(point);
  y[31] = (y[31] ?? 0) & 0x7f;
  if (SMALL_ORDER_Y.has(y.toString('hex'))) return false;
  return Buffer.compare(y.reverse(), Buffer.from(P).reverse()) < 0;
}

/**
 * Verifies an ed25519 signature with the strict rules of Solana's runtime.
 * A signature consists of R and s. OpenSSL checks the equation without cofactor, compares R as bytes, and rejects an s ≥ the group order.
 * This function itself rejects inputs that some OpenSSL versions accept:
 * - a key or an R of small order, because one signature may then fit many messages
 * - a key that is not encoded canonically
 * OpenSSL is seven times faster than curve arithmetic in JavaScript.
 * @param key 32 bytes
 * @param signature 64 bytes
 */
export function verifyStrict(key: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  if (key.length !== 32 || signature.length !== 64) return false;
  if (!isCanonicalPoint(key) || !isCanonicalPoint(signature.subarray(0, 32))) return false;
  try {
    const publicKey = createPublicKey({ key: Buffer.concat([SPKI, key]), format: 'der', type: 'spki' });
    return verify(null, message, publicKey, signature);
  } catch {
    // OpenSSL may throw when the 32 key bytes are not a point of the curve.
    return false;
  }
}
