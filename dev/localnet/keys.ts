import bs58 from 'bs58';

/** 32 bytes (an address or a hash) as a string of 32 Latin-1 characters, which is a fast key of a Map. */
export type Key = string;

export const KEY_BYTES = 32;

/** Maximum number of cached base58 texts. They are cached because encoding is slow and responses repeat the same addresses. */
const MAX_CACHED = 100_000;
const base58Cache = new Map<Key, string>();

export function keyOf(bytes: Uint8Array): Key {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

export function bytesOf(key: Key): Buffer {
  return Buffer.from(key, 'latin1');
}

export function base58Of(key: Key): string {
  const cached = base58Cache.get(key);
  if (cached !== undefined) return cached;
  if (base58Cache.size >= MAX_CACHED) base58Cache.clear();
  const text = bs58.encode(bytesOf(key));
  base58Cache.set(key, text);
  return text;
}

/** Decodes a base58 text. Returns null if the text does not encode exactly 32 bytes. */
export function keyFromBase58(text: string): Key | null {
  if (text.length > 44) return null;
  const bytes = bs58.decodeUnsafe(text);
  return bytes?.length === KEY_BYTES ? keyOf(bytes) : null;
}

function constant(text: string): Key {
  return keyOf(bs58.decode(text));
}

/** Addresses of native programs, SPL programs and sysvars. */
export const SYSTEM_PROGRAM = constant('11111111111111111111111111111111');
export const TOKEN_PROGRAM = constant('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA');
export const TOKEN_2022_PROGRAM = constant('TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb');
export const ASSOCIATED_TOKEN_PROGRAM = constant('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL');
export const MEMO_PROGRAM = constant('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr');
export const MEMO_PROGRAM_V1 = constant('Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo');
export const COMPUTE_BUDGET_PROGRAM = constant('ComputeBudget111111111111111111111111111111');
export const LOOKUP_TABLE_PROGRAM = constant('AddressLookupTab1e1111111111111111111111111');
export const UPGRADEABLE_LOADER = constant('BPFLoaderUpgradeab1e11111111111111111111111');
export const VOTE_PROGRAM = constant('Vote111111111111111111111111111111111111111');
export const SYSVAR_PROGRAM = constant('Sysvar1111111111111111111111111111111111111');
export const CLOCK_SYSVAR = constant('SysvarC1ock11111111111111111111111111111111');
export const SLOT_HASHES_SYSVAR = constant('SysvarS1otHashes111111111111111111111111111');
