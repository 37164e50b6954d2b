import { bls12_381 as bls } from '@noble/curves/bls12-381.js';
import type { BeaconChain } from './beacon-chain.ts';
import { sha256 } from './bytes.ts';

/** Domain separation tag of the BLS ciphersuite with signatures on G1. */
const DOMAIN = 'BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_';

type BeaconKey = InstanceType<typeof bls.G2.Point>;

/** Decoded public keys, by beacon chain. They are cached, because decoding a key takes one fifth of the time that verifying a signature takes. */
const keys = new WeakMap<BeaconChain, BeaconKey>();

/**
 * Returns whether `signature` is the signature of the beacon chain for a round. The scheme is bls-unchained-g1-rfc9380: the signature is on G1, the
 * key on G2. The signed message is sha256(round as u64, big-endian), hashed to the curve by RFC 9380. Accepts only the compressed encoding of a
 * non-zero point of the subgroup, so that a round has exactly one valid signature and one randomness.
 * @param signature the 48 bytes of the signature as hex
 * @throws when the chain's public key is not a valid point
 */
export function verifySignature(chain: BeaconChain, round: number, signature: string): boolean {
  const point = decodeSignature(signature);
  return point !== null && Number.isSafeInteger(round) && round > 0 && bls.shortSignatures.verify(point, messageOf(round), keyOf(chain));
}

function messageOf(round: number) {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(round));
  return bls.shortSignatures.hash(sha256(bytes), DOMAIN);
}

function decodeSignature(signature: string) {
  if (!/^[0-9a-f]{96}$/.test(signature)) return null;
  try {
    const point = bls.G1.Point.fromHex(signature);
    // Checks that the point is on the curve and in the subgroup.
    point.assertValidity();
    return point.is0() || point.toHex(true) !== signature ? null : point;
  } catch {
    return null;
  }
}

function keyOf(chain: BeaconChain): BeaconKey {
  const known = keys.get(chain);
  if (known) return known;
  const point = bls.G2.Point.fromHex(chain.publicKey);
  point.assertValidity();
  if (point.is0() || point.toHex(true) !== chain.publicKey) throw new Error('the public key of the beacon is not a valid point');
  keys.set(chain, point);
  return point;
}
