import { base58Bytes, fromHex, hashOfParts, sha256, u64, utf8, uuidBytes } from './bytes.ts';
import type { Commitment } from './commitment.ts';

const LABEL = 'coinop/draw/1';

/** Returns the randomness of a beacon round: SHA-256 of its signature. Input and result are hex. */
export function randomnessOf(signature: string): string {
  return sha256(fromHex(signature)).toString('hex');
}

/**
 * Returns the seed of a draw, 32 bytes: SHA-256 over the length-prefixed parts "coinop/draw/1", round id (16 bytes), entries root, parameters hash,
 * drand chain hash, beacon round R (u64), randomness, blockhash (32 bytes each).
 * @param randomness randomness of beacon round R, hex
 * @param blockhash hash of the finalized block that contains the commitment, base58
 */
export function drawSeed(commitment: Commitment, randomness: string, blockhash: string): Buffer {
  const { round, entriesRoot, parametersHash, chainHash, beaconRound } = commitment;
  return hashOfParts(
    utf8(LABEL),
    uuidBytes(round),
    fromHex(entriesRoot),
    fromHex(parametersHash),
    fromHex(chainHash),
    u64(beaconRound),
    fromHex(randomness),
    base58Bytes(blockhash),
  );
}
