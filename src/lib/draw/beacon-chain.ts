import { fromHex, sha256, utf8 } from './bytes.ts';

/** Signatures on G1, hashed to the curve by RFC 9380, each round signed on its own: so anyone can verify a round by itself. */
export const SCHEME = 'bls-unchained-g1-rfc9380';

/** A chain of drand's: its key, and when its rounds appear. Bytes are hex. */
export interface BeaconChain {
  /** Over all the others: whoever knows it knows them. */
  readonly chainHash: string;
  readonly scheme: typeof SCHEME;
  /** On G2, compressed: 96 bytes. */
  readonly publicKey: string;
  /** Seconds between rounds. */
  readonly period: number;
  /** Unix seconds at which round 1 appears. */
  readonly genesisTime: number;
  readonly groupHash: string;
  readonly beaconId: string;
}

/** The chain that production uses, as drand's documentation and clients pin it. */
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
 * A chain's hash as drand computes it: SHA-256 of period u32 ‖ genesis time i64 (both big-endian, here alone) ‖ public
 * key ‖ group hash ‖ name, where the name is left out for the chain that is called "default".
 */
export function chainHashOf({ period, genesisTime, publicKey, groupHash, beaconId }: Omit<BeaconChain, 'chainHash' | 'scheme'>): string {
  const head = Buffer.alloc(12);
  head.writeUInt32BE(period, 0);
  head.writeBigInt64BE(BigInt(genesisTime), 4);
  const name = beaconId === 'default' ? '' : beaconId;
  return sha256(Buffer.concat([head, fromHex(publicKey), fromHex(groupHash), utf8(name)])).toString('hex');
}

type Rounds = Pick<BeaconChain, 'period' | 'genesisTime'>;

/** When a round appears, ms since 1970. */
export function timeOf({ period, genesisTime }: Rounds, round: number): number {
  return (genesisTime + (round - 1) * period) * 1_000;
}

/** The newest round at a time, ms since 1970; 0 before the first. */
export function roundAt({ period, genesisTime }: Rounds, ms: number): number {
  return Math.max(0, Math.floor((ms - genesisTime * 1_000) / (period * 1_000)) + 1);
}

/** The first round at or after a time, ms since 1970. */
export function firstRoundFrom({ period, genesisTime }: Rounds, ms: number): number {
  return Math.max(1, Math.ceil((ms - genesisTime * 1_000) / (period * 1_000)) + 1);
}

/**
 * The round that a commitment names: the first at or after its signing and the lead.
 * @param signedAt ms since 1970
 */
export const roundToCommit = (chain: Rounds, signedAt: number, leadSec: number): number => firstRoundFrom(chain, signedAt + leadSec * 1_000);

/**
 * Whether a commitment was on the chain early enough before the beacon's round.
 * @param blockTime of the finalized block that holds it, ms since 1970
 */
export function isInTime(chain: Rounds, round: number, blockTime: number, marginSec: number): boolean {
  return blockTime <= timeOf(chain, round) - marginSec * 1_000;
}
