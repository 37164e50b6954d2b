import bs58 from 'bs58';
import { KEY_BYTES, type Key, keyOf } from '../keys.ts';

/** Maximum transaction size, bytes. */
export const PACKET_BYTES = 1232;
const SIGNATURE_BYTES = 64;
const MAX_ACCOUNTS = 256;

export interface WireInstruction {
  readonly programIndex: number;
  readonly accounts: Buffer;
  readonly data: Buffer;
}

/** The addresses that a transaction loads from a lookup table, as indexes into the table. */
export interface WireLookup {
  readonly table: Key;
  readonly writable: Buffer;
  readonly readonly: Buffer;
}

export interface WireMessage {
  readonly version: 'legacy' | 0;
  readonly bytes: Buffer;
  /** Number of required signatures. */
  readonly required: number;
  /** Number of read-only keys among the signers (`readonlySigned`) and among the other keys (`readonlyUnsigned`). */
  readonly readonlySigned: number;
  readonly readonlyUnsigned: number;
  readonly keys: readonly Key[];
  readonly blockhash: Key;
  readonly instructions: readonly WireInstruction[];
  readonly lookups: readonly WireLookup[];
}

/** A parsed transaction, together with its unparsed bytes (`raw`). */
export interface WireTransaction extends WireMessage {
  readonly raw: Buffer;
  readonly signatures: readonly Buffer[];
  /** Base58 of the first signature, which identifies the transaction. */
  readonly signature: string;
}

/** Thrown for bytes that are not a valid transaction. */
export class MalformedTransaction extends Error {}

/** Reads the wire format as strictly as a validator, because LiteSVM ends the process on bytes that it cannot parse. */
class Reader {
  at = 0;
  readonly bytes: Buffer;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  take(count: number): Buffer {
    if (this.at + count > this.bytes.length) throw new MalformedTransaction('failed to fill whole buffer');
    this.at += count;
    return this.bytes.subarray(this.at - count, this.at);
  }

  byte(): number {
    return this.take(1).readUInt8();
  }

  key(): Key {
    return keyOf(this.take(KEY_BYTES));
  }

  /** Reads a compact-u16: seven bits per byte, least significant first, in the shortest form. */
  length(): number {
    let value = 0;
    for (let i = 0; i < 3; i++) {
      const byte = this.byte();
      if (byte === 0 && i > 0) throw new MalformedTransaction('a length must be in its shortest form');
      value |= (byte & 0x7f) << (7 * i);
      if (byte < 0x80) {
        if (value > 0xffff) break;
        return value;
      }
    }
    throw new MalformedTransaction('a length must fit into 16 bits');
  }

  list<T>(item: () => T): T[] {
    return Array.from({ length: this.length() }, item);
  }

  end(): void {
    if (this.at !== this.bytes.length) throw new MalformedTransaction(`${this.bytes.length - this.at} bytes follow the end of the message`);
  }
}

/** Parses a transaction. @throws MalformedTransaction for bytes that validators refuse */
export function parseTransaction(raw: Buffer): WireTransaction {
  if (raw.length > PACKET_BYTES) throw new MalformedTransaction(`too large: ${raw.length} bytes (max: encoded/raw 1644/${PACKET_BYTES})`);
  const reader = new Reader(raw);
  const signatures = reader.list(() => reader.take(SIGNATURE_BYTES));
  const message = parseMessage(raw.subarray(reader.at));
  const [first] = signatures;
  if (!first || signatures.length !== message.required) throw new MalformedTransaction('the number of signatures must equal the number of signers');
  return { ...message, raw, signatures, signature: bs58.encode(first) };
}

/**
 * Parses the message of a transaction: all of the transaction except its signatures.
 * @throws MalformedTransaction
 */
export function parseMessage(bytes: Buffer): WireMessage {
  const reader = new Reader(bytes);
  const first = reader.byte();
  const versioned = first >= 0x80;
  if (versioned && first !== 0x80) throw new MalformedTransaction(`version ${first & 0x7f} transactions are not supported`);
  const required = versioned ? reader.byte() : first;
  const readonlySigned = reader.byte();
  const readonlyUnsigned = reader.byte();
  const keys = reader.list(() => reader.key());
  const blockhash = reader.key();
  const instructions = reader.list(() => ({
    programIndex: reader.byte(),
    accounts: reader.take(reader.length()),
    data: reader.take(reader.length()),
  }));
  const lookups = versioned
    ? reader.list(() => ({ table: reader.key(), writable: reader.take(reader.length()), readonly: reader.take(reader.length()) }))
    : [];
  reader.end();
  const message = { version: versioned ? (0 as const) : ('legacy' as const), bytes, required, readonlySigned, readonlyUnsigned };
  return sanitized({ ...message, keys, blockhash, instructions, lookups });
}

function sanitized(message: WireMessage): WireMessage {
  const { required, readonlySigned, readonlyUnsigned, keys, instructions, lookups } = message;
  const all = keys.length + lookups.reduce((sum, { writable, readonly }) => sum + writable.length + readonly.length, 0);
  const isValid =
    readonlySigned < required &&
    required + readonlyUnsigned <= keys.length &&
    all <= MAX_ACCOUNTS &&
    lookups.every(({ writable, readonly }) => writable.length + readonly.length > 0) &&
    instructions.every(({ programIndex, accounts }) => programIndex > 0 && programIndex < keys.length && accounts.every((account) => account < all));
  if (!isValid) throw new MalformedTransaction('Transaction failed to sanitize accounts offsets correctly');
  return message;
}

/** Returns whether a transaction may write the key `keys[index]`. For keys from lookup tables use `lookups` instead. */
export function mayWrite(message: WireMessage, index: number): boolean {
  const { required, readonlySigned, readonlyUnsigned, keys } = message;
  return index < required ? index < required - readonlySigned : index < keys.length - readonlyUnsigned;
}
