import { programAddress } from '../../../src/lib/draw/accounts.ts';
import { base58Bytes, sha256, toHex } from '../../../src/lib/draw/bytes.ts';
import type { Account } from './chain.ts';

const UPGRADEABLE_LOADER = 'BPFLoaderUpgradeab1e11111111111111111111111';
const FINAL_LOADERS = ['BPFLoader2111111111111111111111111111111111', 'BPFLoader1111111111111111111111111111111111'];
/** Types of the accounts of the upgradeable loader: the first u32 of their data. */
const PROGRAM_STATE = 2;
const PROGRAM_DATA_STATE = 3;
const PROGRAM_DATA_HEADER_BYTES = 45;

/** Returns the address of the account that holds the bytes of an upgradeable program. */
export const programDataAddress = (program: string): string => programAddress(UPGRADEABLE_LOADER, base58Bytes(program)).address;

/** Returns the hash of a program, hex: SHA-256 of its bytes without the zero bytes at their end. A deployed program may end with more zeros. */
export function programHash(bytes: Uint8Array): string {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end--;
  return toHex(sha256(bytes.subarray(0, end)));
}

/** A deployed program. `deployedIn` is null for a loader whose programs never change. */
export interface DeployedProgram {
  readonly hash: string;
  /** Whether an upgrade authority can replace the program. */
  readonly isUpgradeable: boolean;
  readonly deployedIn: number | null;
}

/** Returns whether a program account of the upgradeable loader names the account that holds its bytes. */
function namesData(program: string, { owner, data }: Account): boolean {
  const address = base58Bytes(programDataAddress(program));
  return (
    owner === UPGRADEABLE_LOADER &&
    data.length === 36 &&
    viewOf(data).getUint32(0, true) === PROGRAM_STATE &&
    address.every((byte, i) => byte === data[4 + i])
  );
}

/**
 * Reads a deployed program. Returns null when the account is not a program of a known loader.
 * @param dataAccount the account at `programDataAddress`
 */
export function readProgram(program: string, account: Account | null, dataAccount: Account | null): DeployedProgram | null {
  if (account === null) return null;
  if (FINAL_LOADERS.includes(account.owner)) return { hash: programHash(account.data), isUpgradeable: false, deployedIn: null };
  if (!namesData(program, account) || dataAccount?.owner !== UPGRADEABLE_LOADER || dataAccount.data.length < PROGRAM_DATA_HEADER_BYTES) return null;
  const view = viewOf(dataAccount.data);
  if (view.getUint32(0, true) !== PROGRAM_DATA_STATE) return null;
  const hash = programHash(dataAccount.data.subarray(PROGRAM_DATA_HEADER_BYTES));
  return { hash, isUpgradeable: view.getUint8(12) !== 0, deployedIn: Number(view.getBigUint64(4, true)) };
}

const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array) => new DataView(buffer, byteOffset, byteLength);
