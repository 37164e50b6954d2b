import { type Address, addressOfBytes, type RawAccount } from '../primitives.ts';

/** Number of claims that one bitmap page records. */
export const CLAIMS_PER_PAGE = 4096;

/** Bytes of an epoch account. */
export const EPOCH_BYTES = 240;
/** Number of bytes of a bitmap page before its bits. */
const PAGE_HEADER_BYTES = 48;

const EPOCH_TAG = Buffer.from('CoinopEp', 'latin1');
const PAGE_TAG = Buffer.from('CoinopPg', 'latin1');
const VERSION = 1;

const STATES = { 1: 'open', 2: 'settled', 3: 'closed' } as const;
type EpochAccountState = (typeof STATES)[keyof typeof STATES];

/** A decoded epoch account. Amounts are base units of the mint. */
export interface EpochAccount {
  /** Only an open epoch pays claims. A closed epoch's account stays on the chain, with an empty vault. */
  readonly state: EpochAccountState;
  readonly epoch: bigint;
  readonly root: Buffer;
  readonly leaves: number;
  readonly total: bigint;
  readonly claimed: bigint;
  /** End of the claim period, Unix time in seconds. */
  readonly expiry: number;
  readonly authority: Address;
  readonly mint: Address;
  readonly vault: Address;
  /** The token account that receives the unclaimed tokens. */
  readonly refund: Address;
  /** The wallet whose associated token account is `refund`. */
  readonly refundOwner: Address;
  readonly bump: number;
}

/** A decoded page of the bitmap of paid claims. */
interface PageAccount {
  readonly page: number;
  readonly epochAccount: Address;
  readonly bump: number;
  /** One bit per claim, 1 = paid. The lowest bit of the first byte stands for the first claim of the page. */
  readonly bits: Buffer;
}

/** Returns the data of an account if the program owns the account and the data begins with `tag` and the layout version; otherwise null. */
function bytesOf(program: Address, account: RawAccount, tag: Buffer): Buffer | null {
  if (!account?.owner.equals(program)) return null;
  const data = Buffer.from(account.data.buffer, account.data.byteOffset, account.data.byteLength);
  return data.subarray(0, tag.length).equals(tag) && data[tag.length] === VERSION ? data : null;
}

const keyAt = (data: Buffer, at: number) => addressOfBytes(data.subarray(at, at + 32));

function stateOf(byte: number): EpochAccountState | null {
  return byte === 1 || byte === 2 || byte === 3 ? STATES[byte] : null;
}

/** Decodes an epoch account. Returns null for any other account. */
export function decodeEpoch(program: Address, account: RawAccount): EpochAccount | null {
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

/** Returns the size of a bitmap page in bytes, which determines the rent of the page. The last page of an epoch may be shorter than the others. */
export function pageBytes(leaves: number, page: number): number {
  const claims = Math.min(CLAIMS_PER_PAGE, leaves - page * CLAIMS_PER_PAGE);
  if (!(claims > 0)) throw new RangeError(`an epoch of ${leaves} leaves has no page ${page}`);
  return PAGE_HEADER_BYTES + Math.ceil(claims / 8);
}

/** Decodes the account of a bitmap page. Returns null for any other account. */
export function decodePage(program: Address, account: RawAccount): PageAccount | null {
  const data = bytesOf(program, account, PAGE_TAG);
  if (!data || data.length <= PAGE_HEADER_BYTES || data.length > PAGE_HEADER_BYTES + CLAIMS_PER_PAGE / 8) return null;
  return {
    bump: data.readUInt8(9),
    page: data.readUInt32LE(12),
    epochAccount: keyAt(data, 16),
    bits: Buffer.from(data.subarray(PAGE_HEADER_BYTES)),
  };
}

/**
 * Returns whether a bitmap page records a claim as paid.
 * @throws RangeError when the page does not contain the index
 */
export function isClaimed(page: PageAccount, index: number): boolean {
  const bit = index - page.page * CLAIMS_PER_PAGE;
  const byte = Number.isInteger(bit) && bit >= 0 ? page.bits[Math.floor(bit / 8)] : undefined;
  if (byte === undefined) throw new RangeError(`claim ${index} is not on page ${page.page}`);
  return ((byte >> (bit % 8)) & 1) === 1;
}
