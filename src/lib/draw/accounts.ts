import { ed25519 } from '@noble/curves/ed25519.js';
import { encodeBase58 } from '../scalars.ts';
import { base58Bytes, concatBytes, HASH_BYTES, sha256, toHex, utf8, uuidBytes } from './bytes.ts';

/** Layouts of the accounts of the program `draws`. Integers are little-endian. */
const VERSION = 1;
const DRAWS_TAG = 'CoinopDr';
const DRAWS_BYTES = 160;
const COMMITMENT_TAG = 'CoinopCm';
const COMMITMENT_BYTES = 120;
/** Flag: the account is for development, and the program does not limit its settings. */
const DEVELOPMENT = 1;

/** A draws account: the settings of all draws of one founder. Keys are base58, hashes hex. */
export interface DrawsAccount {
  readonly isDevelopment: boolean;
  readonly bump: number;
  /** Seconds between beacon rounds, and Unix time of beacon round 1 in seconds. */
  readonly period: number;
  readonly genesis: number;
  /** Seconds between a commitment and its beacon round: at least `margin`, at most `margin + window`. */
  readonly margin: number;
  readonly window: number;
  readonly founder: string;
  readonly committer: string;
  /** Hash of the drand chain. */
  readonly chainHash: string;
  readonly receiptKey: string;
}

/** A commitment account: the only commitment of a round. */
export interface CommitmentAccount {
  readonly bump: number;
  readonly round: string;
  readonly beaconRound: number;
  readonly slot: number;
  /** Unix time of the chain's clock, seconds. */
  readonly time: number;
  /** Leaf of the round, hex. */
  readonly leaf: string;
  /** Address of the draws account. */
  readonly draws: string;
}

/** Returns a view of account data with this tag, version and exact length; null for other data. */
function viewOf(data: Uint8Array, tag: string, bytes: number): DataView | null {
  const isKind = data.length === bytes && utf8(tag).every((byte, i) => data[i] === byte) && data[tag.length] === VERSION;
  return isKind ? new DataView(data.buffer, data.byteOffset, data.byteLength) : null;
}

const keyAt = (data: Uint8Array, at: number): string => encodeBase58(data.subarray(at, at + HASH_BYTES));
const hashAt = (data: Uint8Array, at: number): string => toHex(data.subarray(at, at + HASH_BYTES));

function uuidAt(data: Uint8Array, at: number): string {
  const digits = toHex(data.subarray(at, at + 16));
  return [digits.slice(0, 8), digits.slice(8, 12), digits.slice(12, 16), digits.slice(16, 20), digits.slice(20)].join('-');
}

/** Decodes the data of a draws account. Returns null when the data is not exactly a draws account. */
export function decodeDraws(data: Uint8Array): DrawsAccount | null {
  const view = viewOf(data, DRAWS_TAG, DRAWS_BYTES);
  const flags = view?.getUint8(9) ?? 0;
  const genesis = Number(view?.getBigInt64(16, true) ?? 0);
  if (view === null || flags > DEVELOPMENT || view.getUint8(11) !== 0 || !Number.isSafeInteger(genesis)) return null;
  return {
    isDevelopment: flags === DEVELOPMENT,
    bump: view.getUint8(10),
    period: view.getUint32(12, true),
    genesis,
    margin: view.getUint32(24, true),
    window: view.getUint32(28, true),
    founder: keyAt(data, 32),
    committer: keyAt(data, 64),
    chainHash: hashAt(data, 96),
    receiptKey: keyAt(data, 128),
  };
}

/** Decodes the data of a commitment account. Returns null when the data is not exactly a commitment account. */
export function decodeCommitment(data: Uint8Array): CommitmentAccount | null {
  const view = viewOf(data, COMMITMENT_TAG, COMMITMENT_BYTES);
  if (view === null || !data.subarray(10, 16).every((byte) => byte === 0)) return null;
  const [beaconRound, slot, time] = [Number(view.getBigUint64(32, true)), Number(view.getBigUint64(40, true)), Number(view.getBigInt64(48, true))];
  if (![beaconRound, slot, time].every(Number.isSafeInteger)) return null;
  return {
    bump: view.getUint8(9),
    round: uuidAt(data, 16),
    beaconRound,
    slot,
    time,
    leaf: hashAt(data, 56),
    draws: keyAt(data, 88),
  };
}

const MAX_BUMP = 255;

function isOnCurve(bytes: Uint8Array): boolean {
  try {
    ed25519.Point.fromBytes(bytes);
    return true;
  } catch {
    return false;
  }
}

/** Returns the address that a program derives from seeds, base58, and the canonical bump: the highest bump whose address is not on the curve. */
export function programAddress(program: string, ...seeds: readonly Uint8Array[]): { address: string; bump: number } {
  for (let bump = MAX_BUMP; bump >= 0; bump--) {
    const hash = sha256(concatBytes(...seeds, Uint8Array.of(bump), base58Bytes(program), utf8('ProgramDerivedAddress')));
    if (!isOnCurve(hash)) return { address: encodeBase58(hash), bump };
  }
  throw new Error('no bump gives an address');
}

/** Returns the address of a founder's draws account. */
export const drawsAddress = (program: string, founder: string) => programAddress(program, utf8('draws'), base58Bytes(founder));

/** Returns the address of a round's commitment account. */
export const commitmentAddress = (program: string, draws: string, round: string) =>
  programAddress(program, utf8('commitment'), base58Bytes(draws), uuidBytes(round));
