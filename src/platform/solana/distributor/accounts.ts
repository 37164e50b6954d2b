import { PublicKey } from '@solana/web3.js';

/** Claims whose bits share a page. */
export const CLAIMS_PER_PAGE = 4096;

/** Bytes of an epoch account, and of a page before its bits. */
export const EPOCH_BYTES = 240;
const PAGE_HEADER_BYTES = 48;

const EPOCH_TAG = Buffer.from('CoinopEp', 'latin1');
const PAGE_TAG = Buffer.from('CoinopPg', 'latin1');
const VERSION = 1;

const STATES = { 1: 'open', 2: 'settled', 3: 'closed' } as const;
export type EpochState = (typeof STATES)[keyof typeof STATES];

/** An account as `Connection` gives it; null where there is none. */
type Account = { readonly owner: PublicKey; readonly data: Uint8Array } | null;

/** An epoch as the chain has it. Amounts are base units of the mint. */
export interface EpochAccount {
  /** Only an open one pays; a closed one is there for ever, with nothing in it. */
  readonly state: EpochState;
  readonly epoch: bigint;
  readonly root: Buffer;
  readonly leaves: number;
  readonly total: bigint;
  readonly claimed: bigint;
  /** Unix time in seconds, from which on nothing can be claimed. */
  readonly expiry: number;
  readonly authority: PublicKey;
  readonly mint: PublicKey;
  readonly vault: PublicKey;
  /** The token account that gets what is left, and the wallet whose associated token account that is. */
  readonly refund: PublicKey;
  readonly refundOwner: PublicKey;
  readonly bump: number;
}

/** A page of the bitmap of what is paid. */
export interface PageAccount {
  readonly page: number;
  readonly epochAccount: PublicKey;
  readonly bump: number;
  /** One for each claim of the page, the first in the lowest bit of the first byte. */
  readonly bits: Buffer;
}

/** The bytes of an account of this program that begins like this, or null. */
function bytesOf(program: PublicKey, account: Account, tag: Buffer): Buffer | null {
  if (!account?.owner.equals(program)) return null;
  const data = Buffer.from(account.data.buffer, account.data.byteOffset, account.data.byteLength);
  return data.subarray(0, tag.length).equals(tag) && data[tag.length] === VERSION ? data : null;
}

const keyAt = (data: Buffer, at: number) => new PublicKey(data.subarray(at, at + 32));

function stateOf(byte: number): EpochState | null {
  return byte === 1 || byte === 2 || byte === 3 ? STATES[byte] : null;
}

/** Reads an epoch; null for anything that is not one of this program. */
export function decodeEpoch(program: PublicKey, account: Account): EpochAccount | null {
  const data = bytesOf(program, account, EPOCH_TAG);
  if (data?.length !== EPOCH_BYTES) return null;
  const state = stateOf(data.readUInt8(9));
  if (state === null) return null;
  return {
    state,
    bump: data.readUInt8(10),
    leaves: data.readUInt32LE(12),
    epoch: data.readBigUInt64LE(16),
    total: data.readBigUInt64LE(24),
    claimed: data.readBigUInt64LE(32),
    expiry: Number(data.readBigInt64LE(40)),
    root: Buffer.from(data.subarray(48, 80)),
    authority: keyAt(data, 80),
    mint: keyAt(data, 112),
    vault: keyAt(data, 144),
    refund: keyAt(data, 176),
    refundOwner: keyAt(data, 208),
  };
}

/** Bytes of a page: what its rent is paid for. The last page of an epoch is as short as its leaves allow. */
export function pageBytes(leaves: number, page: number): number {
  const claims = Math.min(CLAIMS_PER_PAGE, leaves - page * CLAIMS_PER_PAGE);
  if (!(claims > 0)) throw new RangeError(`an epoch of ${leaves} leaves has no page ${page}`);
  return PAGE_HEADER_BYTES + Math.ceil(claims / 8);
}

/** Reads a page; null for anything that is not one of this program. */
export function decodePage(program: PublicKey, account: Account): PageAccount | null {
  const data = bytesOf(program, account, PAGE_TAG);
  if (!data || data.length <= PAGE_HEADER_BYTES || data.length > PAGE_HEADER_BYTES + CLAIMS_PER_PAGE / 8) return null;
  return {
    bump: data.readUInt8(9),
    page: data.readUInt32LE(12),
    epochAccount: keyAt(data, 16),
    bits: Buffer.from(data.subarray(PAGE_HEADER_BYTES)),
  };
}

/** Whether a claim is paid, by its page. @throws RangeError for an index that is not of this page */
export function isClaimed(page: PageAccount, index: number): boolean {
  const bit = index - page.page * CLAIMS_PER_PAGE;
  const byte = Number.isInteger(bit) && bit >= 0 ? page.bits[Math.floor(bit / 8)] : undefined;
  if (byte === undefined) throw new RangeError(`claim ${index} is not on page ${page.page}`);
  return ((byte >> (bit % 8)) & 1) === 1;
}
