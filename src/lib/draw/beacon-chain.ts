import { concatBytes, fromHex, sha256, toHex, utf8 } from './bytes.ts';

/**
 * Name of the drand scheme: signatures on G1, hashed to the curve by RFC 9380. Each beacon round is signed on its own, so a verifier does not need
 * the previous rounds.
 */
export const SCHEME = 'bls-unchained-g1-rfc9380';

/** A drand chain: its key and its schedule. Byte values are hex text. */
export interface BeaconChain {
  /** Hash over the other fields except `scheme`. This hash identifies the chain. */
  readonly chainHash: string;
  readonly scheme: typeof SCHEME;
  /** Public key on G2, compressed: 96 bytes. */
  readonly publicKey: string;
  /** Seconds between beacon rounds. */
  readonly period: number;
  /** Publication time of round 1, Unix seconds. */
  readonly genesisTime: number;
  readonly groupHash: string;
  readonly beaconId: string;
}

/** The drand chain that production uses. Its values equal the values in drand's documentation and clients. */
export const QUICKNET: BeaconChain = {
  chainHash: '52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971',
  scheme: SCHEME,
  publicKey:
    '83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c8c4b450b6a0a6c3ac6a5776a2d1064510d1fec758c921cc22b0e17e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a',
  period: 3,
  genesisTime: 1_692_803_367,
  groupHash: 'f477d5c89f21a17c863a7f937c6a6d15859414d2be09cd448d4279af331c5d3e',
  beaconId: 'quicknet',
};

/**
 * Returns the hash of a chain as drand computes it: SHA-256 of period u32 ‖ genesis time i64 (both big-endian, unlike all other integers
 * of a draw) ‖ public key ‖ group hash ‖ name. The name is omitted for the chain "default".
 */
export function chainHashOf({ period, genesisTime, publicKey, groupHash, beaconId }: Omit<BeaconChain, 'chainHash' | 'scheme'>): string {
  const head = new Uint8Array(12);
  const view = new DataView(head.buffer);
  view.setUint32(0, period);
  view.setBigInt64(4, BigInt(genesisTime));
  const name = beaconId === 'default' ? '' : beaconId;
  return toHex(sha256(concatBytes(head, fromHex(publicKey), fromHex(groupHash), utf8(name))));
}

type Rounds = Pick<BeaconChain, 'period' | 'genesisTime'>;

/** Returns the publication time of a beacon round, ms since 1970. */
export function timeOf({ period, genesisTime }: Rounds, round: number): number {
  return (genesisTime + (round - 1) * period) * 1_000;
}

/**
 * Returns the number of the latest beacon round that is published at a time; 0 before the first beacon round.
 * @param ms the time, ms since 1970
 */
export function roundAt({ period, genesisTime }: Rounds, ms: number): number {
  return Math.max(0, Math.floor((ms - genesisTime * 1_000) / (period * 1_000)) + 1);
}

/**
 * Returns the number of the first beacon round that is published at or after a time.
 * @param ms the time, ms since 1970
 */
export function firstRoundFrom({ period, genesisTime }: Rounds, ms: number): number {
  return Math.max(1, Math.ceil((ms - genesisTime * 1_000) / (period * 1_000)) + 1);
}

/**
 * Returns the beacon round that a commitment must name: the first beacon round at or after `signedAt` plus `leadSec`.
 * @param signedAt time of signing the commitment, ms since 1970
 */
export const roundToCommit = (chain: Rounds, signedAt: number, leadSec: number): number => firstRoundFrom(chain, signedAt + leadSec * 1_000);
