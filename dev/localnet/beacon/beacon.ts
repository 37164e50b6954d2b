import { createHash } from 'node:crypto';
import { bls12_381 as bls } from '@noble/curves/bls12-381.js';

/** The scheme of drand's quicknet: signatures on G1, message hashing by RFC 9380, unchained (no round depends on the round before). */
const SCHEME = 'bls-unchained-g1-rfc9380';
const DOMAIN = 'BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_';
const BEACON_ID = 'localnet';
/** Maximum number of cached signatures. They are cached because signing takes milliseconds. */
const MAX_CACHED_ROUNDS = 1_000;

export interface BeaconOptions {
  /** 32 bytes from which the secret key and the chain hash derive. */
  readonly seed: Buffer;
  readonly periodMs: number;
  /** Time of round 1, unix seconds. */
  readonly genesisTime: number;
}

/** One beacon round, in the format of drand's HTTP API. */
export interface BeaconRound {
  round: number;
  randomness: string;
  signature: string;
}

/** A randomness beacon. It signs a round at the first request for this round, and never before the time of the round. */
export class Beacon {
  readonly chainHash: string;
  readonly publicKey: string;
  /** Number of the last round that the beacon publishes, a fault for tests. null: the beacon publishes every round. */
  stoppedAt: number | null = null;
  /** Whether each round has an invalid signature, namely the signature of the next round: a fault for tests. */
  wrong = false;
  delayMs = 0;
  readonly #secret: Uint8Array;
  readonly #options: BeaconOptions;
  readonly #groupHash: string;
  readonly #rounds = new Map<number, string>();

  constructor(options: BeaconOptions) {
    this.#options = options;
    this.#secret = bls.G1.Point.Fn.toBytes(bls.G1.Point.Fn.create(BigInt(`0x${digest('beacon key', options.seed)}`)));
    this.publicKey = Buffer.from(bls.shortSignatures.getPublicKey(this.#secret).toBytes()).toString('hex');
    this.#groupHash = digest('beacon group', options.seed);
    const { periodMs, genesisTime } = options;
    const [publicKey, groupHash] = [this.publicKey, this.#groupHash];
    this.chainHash = drandChainHash({ period: periodMs / 1000, genesisTime, publicKey, groupHash, beaconId: BEACON_ID });
  }

  /** Returns the number of the newest round whose time is at or before `ms` (unix ms); 0 if `ms` is before round 1. */
  roundAt(ms: number): number {
    const { genesisTime, periodMs } = this.#options;
    return Math.max(0, Math.floor((ms - genesisTime * 1000) / periodMs) + 1);
  }

  info() {
    return {
      public_key: this.publicKey,
      period: this.#options.periodMs / 1000,
      genesis_time: this.#options.genesisTime,
      hash: this.chainHash,
      groupHash: this.#groupHash,
      schemeID: SCHEME,
      metadata: { beaconID: BEACON_ID },
    };
  }

  /** Returns the newest round that is published at `ms` (unix ms); null before the first round. */
  latest(ms: number): BeaconRound | null {
    const round = this.#last(ms);
    return round > 0 ? this.round(round, ms) : null;
  }

  /** Returns a round; null if the beacon has not published this round at `ms` (unix ms). */
  round(round: number, ms: number): BeaconRound | null {
    if (round < 1 || round > this.#last(ms)) return null;
    const signature = this.#sign(this.wrong ? round + 1 : round);
    return { round, randomness: createHash('sha256').update(Buffer.from(signature, 'hex')).digest('hex'), signature };
  }

  #last(ms: number): number {
    return this.stoppedAt === null ? this.roundAt(ms) : Math.min(this.stoppedAt, this.roundAt(ms));
  }

  #sign(round: number): string {
    const known = this.#rounds.get(round);
    if (known !== undefined) return known;
    const message = Buffer.alloc(8);
    message.writeBigUInt64BE(BigInt(round));
    const point = bls.shortSignatures.hash(createHash('sha256').update(message).digest(), DOMAIN);
    const signature = Buffer.from(bls.shortSignatures.sign(point, this.#secret).toBytes()).toString('hex');
    const oldest = this.#rounds.keys().next();
    if (this.#rounds.size >= MAX_CACHED_ROUNDS && !oldest.done) this.#rounds.delete(oldest.value);
    this.#rounds.set(round, signature);
    return signature;
  }
}

/** The inputs of a drand chain hash. */
export interface DrandChain {
  /** Time between two rounds, seconds. */
  readonly period: number;
  /** Time of round 1, unix seconds. */
  readonly genesisTime: number;
  /** `publicKey` and `groupHash` are hex strings. */
  readonly publicKey: string;
  readonly groupHash: string;
  readonly beaconId: string;
}

/** Returns a chain hash as drand computes it: SHA-256 of period, genesis time, public key, group hash and beacon id. */
export function drandChainHash({ period, genesisTime, publicKey, groupHash, beaconId }: DrandChain): string {
  const head = Buffer.alloc(12);
  head.writeUInt32BE(Math.floor(period), 0);
  head.writeBigInt64BE(BigInt(genesisTime), 4);
  const parts = [head, Buffer.from(publicKey, 'hex'), Buffer.from(groupHash, 'hex'), Buffer.from(beaconId)];
  return createHash('sha256').update(Buffer.concat(parts)).digest('hex');
}

function digest(label: string, seed: Buffer): string {
  return createHash('sha256').update(label).update(seed).digest('hex');
}
