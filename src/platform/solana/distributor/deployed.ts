import { PublicKey } from '@solana/web3.js';

/** The loader that keeps a program's bytes in an account of their own, replaceable by an authority while there is one. */
export const UPGRADEABLE_LOADER = new PublicKey('BPFLoaderUpgradeab1e11111111111111111111111');

/** The older loaders keep the bytes, and nothing else, in the program's account. */
const FINAL_LOADERS = [new PublicKey('BPFLoader2111111111111111111111111111111111'), new PublicKey('BPFLoader1111111111111111111111111111111111')];

/** What the upgradeable loader's accounts begin with, and the bytes before the program's own: state, slot, authority. */
const PROGRAM_STATE = 2;
const PROGRAM_DATA_STATE = 3;
const PROGRAM_DATA_HEADER_BYTES = 45;

/** An account as `Connection` gives it; null where there is none. */
type Account = { readonly owner: PublicKey; readonly data: Uint8Array } | null;

/** Where the upgradeable loader keeps the bytes of a program. */
export function programDataAddress(program: PublicKey): PublicKey {
  return PublicKey.findProgramAddressSync([program.toBuffer()], UPGRADEABLE_LOADER)[0];
}

const viewOf = (data: Uint8Array) => Buffer.from(data.buffer, data.byteOffset, data.byteLength);

/** Where the bytes of a deployed program are, by the program's own account; null where that is no program of a loader known here. */
export function programBytesAddress(program: PublicKey, account: Account): PublicKey | null {
  if (!account) return null;
  if (FINAL_LOADERS.some((loader) => account.owner.equals(loader))) return program;
  if (!account.owner.equals(UPGRADEABLE_LOADER) || account.data.length < 36) return null;
  const data = viewOf(account.data);
  const expected = programDataAddress(program);
  return data.readUInt32LE(0) === PROGRAM_STATE && expected.toBuffer().equals(data.subarray(4, 36)) ? expected : null;
}

function programBytes(account: Account): Buffer | null {
  if (!account) return null;
  const data = viewOf(account.data);
  if (FINAL_LOADERS.some((loader) => account.owner.equals(loader))) return data;
  const isProgramData =
    account.owner.equals(UPGRADEABLE_LOADER) && data.length >= PROGRAM_DATA_HEADER_BYTES && data.readUInt32LE(0) === PROGRAM_DATA_STATE;
  return isProgramData ? data.subarray(PROGRAM_DATA_HEADER_BYTES) : null;
}

/**
 * Whether what is deployed is these bytes. `account` is the one at `programBytesAddress`. A program that was once longer, or was given
 * room to grow, has zeros behind its bytes.
 */
export function deployedProgramMatches(account: Account, bytes: Uint8Array): boolean {
  const deployed = programBytes(account);
  if (!deployed || bytes.length === 0 || deployed.length < bytes.length) return false;
  return deployed.subarray(0, bytes.length).equals(bytes) && deployed.subarray(bytes.length).every((byte) => byte === 0);
}
