import { type Address, addressOfBytes, deriveAddress, parseAddress, type RawAccount } from './primitives.ts';
import type { RpcNode } from './rpc-node.ts';

/** Solana's upgradeable loader. It stores the bytes of a program in a separate account, and the upgrade authority can replace these bytes. */
export const UPGRADEABLE_LOADER = parseAddress('BPFLoaderUpgradeab1e11111111111111111111111');

/** Solana's older loaders. They store the bytes of a program in the program account itself. */
const FINAL_LOADERS = [parseAddress('BPFLoader2111111111111111111111111111111111'), parseAddress('BPFLoader1111111111111111111111111111111111')];

/** Types of the accounts of the upgradeable loader. The first u32 of an account is its type. */
const PROGRAM_STATE = 2;
const PROGRAM_DATA_STATE = 3;
/** Number of bytes (type, slot, authority) before the bytes of the program in a program data account. */
export const PROGRAM_DATA_HEADER_BYTES = 45;
/** Offset of the byte that is 0 when a program has no upgrade authority. */
const AUTHORITY_FLAG = 12;
/** Bytes of a program account of the upgradeable loader. */
export const PROGRAM_ACCOUNT_BYTES = 36;

/** Derives the address of the account that stores the bytes of an upgradeable program. */
export function programDataAddress(program: Address): Address {
  return deriveAddress(UPGRADEABLE_LOADER, program.toBuffer());
}

const viewOf = (data: Uint8Array) => Buffer.from(data.buffer, data.byteOffset, data.byteLength);

/** What is deployed at the address of a program. */
export interface ProgramState {
  /** Whether the program consists of the expected bytes. */
  readonly isEqual: boolean;
  /** Whether nobody can replace the program: it has no upgrade authority. */
  readonly isFinal: boolean;
  /** The address that may replace the program, base58; null when the program is final. */
  readonly upgradeAuthority: string | null;
  /** Maximum number of bytes that an upgrade can store. */
  readonly capacity: number;
}

/**
 * Compares a deployed program with its expected bytes, at finalized. Returns null when there is no program at the address.
 * @throws 503 when the RPC node does not answer
 */
export async function programState(node: RpcNode, program: Address, bytes: Uint8Array): Promise<ProgramState | null> {
  const { accounts } = await node.accounts([program, programDataAddress(program)], 'finalized');
  return stateOfProgram(program, accounts, bytes);
}

/**
 * Compares a deployed program with its expected bytes. Zeros after the program are accepted, because the account can be larger than the program.
 * @param accounts the account of the program and the account at `programDataAddress`, which must be of the same slot
 * @returns null when the first account is not a program of a known loader
 */
export function stateOfProgram(
  program: Address,
  [account = null, dataAccount = null]: readonly (RawAccount | undefined)[],
  bytes: Uint8Array,
): ProgramState | null {
  if (!account) return null;
  const isEqual = (deployed: Uint8Array) => startsWith(deployed, bytes);
  if (FINAL_LOADERS.some((loader) => account.owner.equals(loader))) {
    return { isEqual: isEqual(account.data), isFinal: true, upgradeAuthority: null, capacity: 0 };
  }
  if (!isUpgradeable(program, account) || !dataAccount?.owner.equals(UPGRADEABLE_LOADER)) return null;
  const data = viewOf(dataAccount.data);
  if (data.length < PROGRAM_DATA_HEADER_BYTES || data.readUInt32LE(0) !== PROGRAM_DATA_STATE) return null;
  const bytesOfProgram = data.subarray(PROGRAM_DATA_HEADER_BYTES);
  const isFinal = data[AUTHORITY_FLAG] === 0;
  const upgradeAuthority = isFinal ? null : addressOfBytes(data.subarray(AUTHORITY_FLAG + 1, PROGRAM_DATA_HEADER_BYTES)).toBase58();
  return { isEqual: isEqual(bytesOfProgram), isFinal, upgradeAuthority, capacity: bytesOfProgram.length };
}

/** Returns whether an account is a program of the upgradeable loader, whose bytes are at `programDataAddress`. */
function isUpgradeable(program: Address, { owner, data }: NonNullable<RawAccount>): boolean {
  if (!owner.equals(UPGRADEABLE_LOADER) || data.length < PROGRAM_ACCOUNT_BYTES) return false;
  const view = viewOf(data);
  return view.readUInt32LE(0) === PROGRAM_STATE && view.subarray(4, PROGRAM_ACCOUNT_BYTES).equals(programDataAddress(program).toBuffer());
}

/** Returns whether `deployed` consists of `bytes` and zeros after them. */
function startsWith(deployed: Uint8Array, bytes: Uint8Array): boolean {
  const view = viewOf(deployed);
  const begins = bytes.length > 0 && view.subarray(0, bytes.length).equals(bytes);
  return begins && view.subarray(bytes.length).every((byte) => byte === 0);
}
