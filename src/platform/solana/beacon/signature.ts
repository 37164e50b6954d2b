import { createHash } from 'node:crypto';
import { bls12_381 as bls } from '@noble/curves/bls12-381.js';
import type { BeaconChain } from '#lib/draw/beacon-chain.ts';

/** Of the ciphersuite with signatures on G1. */
const DOMAIN = 'BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_';

type PublicKey = InstanceType<typeof bls.G2.Point>;

/** Decoding a key costs a fifth of a verification, and there is one per chain. */
const keys = new WeakMap<BeaconChain, PublicKey>();

/**
 * Whether a signature is a chain's of a round, by the scheme bls-unchained-g1-rfc9380: signature on G1, key on G2, message
 * sha256(round u64, big-endian), hashed to the curve by RFC 9380. Anything but the one compressed encoding of a point of the
 * subgroup other than zero is refused, so that a round has exactly one signature, and one randomness.
 * @param signature hex, 48 bytes
 * @throws when the chain's own key is not such a point
 */
export function verifySignature(chain: BeaconChain, round: number, signature: string): boolean {
  const point = decodeSignature(signature);
  return point !== null && Number.isSafeInteger(round) && round > 0 && bls.shortSignatures.verify(point, messageOf(round), keyOf(chain));
}

function messageOf(round: number) {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(round));
  return bls.shortSignatures.hash(createHash('sha256').update(bytes).digest(), DOMAIN);
}

function decodeSignature(signature: string) {
  if (!/^[0-9a-f]{96}$/.test(signature)) return null;
  try {
    const point = bls.G1.Point.fromHex(signature);
    // On the curve and in the subgroup.
    point.assertValidity();
    return point.is0() || point.toHex(true) !== signature ? null : point;
  } catch {
    return null;
  }
}

function keyOf(chain: BeaconChain): PublicKey {
  const known = keys.get(chain);
  if (known) return known;
  const point = bls.G2.Point.fromHex(chain.publicKey);
  point.assertValidity();
  if (point.is0() || point.toHex(true) !== chain.publicKey) throw new Error('the key of the beacon is no key');
  keys.set(chain, point);
  return point;
}
