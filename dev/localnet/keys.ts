import bs58 from 'bs58';

/** 32 bytes (an address or a hash) as a string of 32 Latin-1 characters: a cheap key of maps. */
export type Key = string;

export const KEY_BYTES = 32;

/** Base58 is slow, and the same few addresses are written again and again. */
const CACHED = 100_000;
const written = new Map<Key, string>();

export function keyOf(bytes: Uint8Array): Key {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

export function bytesOf(key: Key): Buffer {
  return Buffer.from(key, 'latin1');
}

export function base58Of(key: Key): string {
  const known = written.get(key);
  if (known !== undefined) return known;
  if (written.size >= CACHED) written.clear();
  const text = bs58.encode(bytesOf(key));
  written.set(key, text);
  return text;
}

/** null for anything that is not the base58 of 32 bytes. */
export function keyFromBase58(text: string): Key | null {
  if (text.length > 44) return null;
  const bytes = bs58.decodeUnsafe(text);
  return bytes?.length === KEY_BYTES ? keyOf(bytes) : null;
}

function constant(text: string): Key {
  return keyOf(bs58.decode(text));
}

/** Programs and accounts of every cluster. */
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
export const STAKE_PROGRAM = constant('Stake11111111111111111111111111111111111111');
export const SYSVAR_PROGRAM = constant('Sysvar1111111111111111111111111111111111111');
export const CLOCK_SYSVAR = constant('SysvarC1ock11111111111111111111111111111111');
export const SLOT_HASHES_SYSVAR = constant('SysvarS1otHashes111111111111111111111111111');
