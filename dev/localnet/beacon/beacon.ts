import { createHash } from 'node:crypto';
import { bls12_381 as bls } from '@noble/curves/bls12-381.js';

/** As drand's quicknet: signatures on G1, hashed by RFC 9380, each round signed on its own. */
export const SCHEME = 'bls-unchained-g1-rfc9380';
const DOMAIN = 'BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_';
const BEACON_ID = 'localnet';
/** Rounds that are kept once they have been asked for: signing takes milliseconds. */
const CACHED_ROUNDS = 1_000;

export interface BeaconOptions {
  /** 32 bytes: the key and the chain's hash derive from them. */
  readonly seed: Buffer;
  readonly periodMs: number;
  /** Unix seconds at which round 1 appears. */
  readonly genesisTime: number;
}

/** One round, as drand's HTTP API writes it. */
export interface Round {
  round: number;
  randomness: string;
  signature: string;
}

/** A beacon whose rounds are signed when somebody asks; nobody can ask before their time. */
export class Beacon {
  readonly chainHash: string;
  readonly publicKey: string;
  /** Does not appear any more; signs another round than it says. */
  stoppedAt: number | null = null;
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

  /** The round of a time, unix ms; 0 before the first. */
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

  /** The newest round; null where there is none yet. */
  latest(ms: number): Round | null {
    const round = this.#last(ms);
    return round > 0 ? this.round(round, ms) : null;
  }

  /** null for a round whose time has not come. */
  round(round: number, ms: number): Round | null {
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
    if (this.#rounds.size >= CACHED_ROUNDS && !oldest.done) this.#rounds.delete(oldest.value);
    this.#rounds.set(round, signature);
    return signature;
  }
}

/** What a drand chain's hash is made of. */
export interface DrandChain {
  /** Seconds. */
  readonly period: number;
  readonly genesisTime: number;
  /** Hex. */
  readonly publicKey: string;
  readonly groupHash: string;
  readonly beaconId: string;
}

/** A chain's hash as drand computes it: SHA-256 of period, genesis time, public key, group hash and name. */
export function drandChainHash({ period, genesisTime, publicKey, groupHash, beaconId }: DrandChain): string {
  const head = Buffer.alloc(12);
  head.writeUInt32BE(Math.floor(period), 0);
  head.writeBigInt64BE(BigInt(genesisTime), 4);
  const parts = [head, Buffer.from(publicKey, 'hex'), Buffer.from(groupHash, 'hex'), Buffer.from(beaconId)];
  return createHash('sha256').update(Buffer.concat(parts)).digest('hex');
}

function digest(what: string, seed: Buffer): string {
  return createHash('sha256').update(what).update(seed).digest('hex');
}
