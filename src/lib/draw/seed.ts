import { base58Bytes, fromHex, hashOfParts, sha256, toHex, u64, utf8, uuidBytes } from './bytes.ts';

const LABEL = 'coinop/draw/2';

/** Returns the randomness of a beacon round: SHA-256 of its signature. Input and result are hex. */
export const randomnessOf = (signature: string): string => toHex(sha256(fromHex(signature)));

/** The inputs of a seed, in the order in which they are hashed. Hashes are hex, except the blockhash, which is base58. */
export interface SeedInputs {
  readonly round: string;
  /** Leaf of the round, as the commitment holds it. */
  readonly leaf: string;
  /** Hash of the drand chain. */
  readonly chainHash: string;
  readonly beaconRound: number;
  /** Randomness of the beacon round. */
  readonly randomness: string;
  /** Hash of the finalized block in the slot of the commitment. */
  readonly blockhash: string;
}

/**
 * Returns the seed of a draw, 32 bytes: SHA-256 over the length-prefixed parts "coinop/draw/2", round id (16 bytes), leaf of the round, drand
 * chain hash (32 bytes each), beacon round (u64), randomness, blockhash (32 bytes each).
 */
export function drawSeed({ round, leaf, chainHash, beaconRound, randomness, blockhash }: SeedInputs): Uint8Array {
  return hashOfParts(utf8(LABEL), uuidBytes(round), fromHex(leaf), fromHex(chainHash), u64(beaconRound), fromHex(randomness), base58Bytes(blockhash));
}
