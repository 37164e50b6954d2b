import { type Address, deriveAddress, parseAddress } from '../primitives.ts';
import type { RawAccount } from './accounts.ts';

/** Solana's upgradeable loader. It stores the bytes of a program in a separate account, and the upgrade authority can replace these bytes. */
export const UPGRADEABLE_LOADER = parseAddress('BPFLoaderUpgradeab1e11111111111111111111111');

/** Solana's older loaders. They store the bytes of a program in the program account itself. */
const FINAL_LOADERS = [parseAddress('BPFLoader2111111111111111111111111111111111'), parseAddress('BPFLoader1111111111111111111111111111111111')];

/** Types of the accounts of the upgradeable loader. The first u32 of an account is its type. */
const PROGRAM_STATE = 2;
const PROGRAM_DATA_STATE = 3;
/** Number of bytes (type, slot, authority) before the bytes of the program in a program data account. */
const PROGRAM_DATA_HEADER_BYTES = 45;

/** Derives the address of the account that stores the bytes of an upgradeable program. */
export function programDataAddress(program: Address): Address {
  return deriveAddress(UPGRADEABLE_LOADER, program.toBuffer());
}

const viewOf = (data: Uint8Array) => Buffer.from(data.buffer, data.byteOffset, data.byteLength);

/**
 * Returns the address of the account that stores the bytes of a deployed program.
 * @param account the program account
 * @returns null when the account is not a program of a known loader
 */
export function programBytesAddress(program: Address, account: RawAccount): Address | null {
  if (!account) return null;
  if (FINAL_LOADERS.some((loader) => account.owner.equals(loader))) return program;
  if (!account.owner.equals(UPGRADEABLE_LOADER) || account.data.length < 36) return null;
  const data = viewOf(account.data);
  const expected = programDataAddress(program);
  return data.readUInt32LE(0) === PROGRAM_STATE && expected.toBuffer().equals(data.subarray(4, 36)) ? expected : null;
}

function programBytes(account: RawAccount): Buffer | null {
  if (!account) return null;
  const data = viewOf(account.data);
  if (FINAL_LOADERS.some((loader) => account.owner.equals(loader))) return data;
  const isProgramData =
    account.owner.equals(UPGRADEABLE_LOADER) && data.length >= PROGRAM_DATA_HEADER_BYTES && data.readUInt32LE(0) === PROGRAM_DATA_STATE;
  return isProgramData ? data.subarray(PROGRAM_DATA_HEADER_BYTES) : null;
}

/**
 * Returns whether the deployed program equals `bytes`. Zeros after the program are accepted, because the account can be larger than the program.
 * @param account the account at the address that `programBytesAddress` returned
 */
export function deployedProgramMatches(account: RawAccount, bytes: Uint8Array): boolean {
  const deployed = programBytes(account);
  if (!deployed || bytes.length === 0 || deployed.length < bytes.length) return false;
  return deployed.subarray(0, bytes.length).equals(bytes) && deployed.subarray(bytes.length).every((byte) => byte === 0);
}
