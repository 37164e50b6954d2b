import { PROGRAM_ACCOUNT_BYTES, programDataAddress, UPGRADEABLE_LOADER } from '#platform/solana/deployed-program.ts';
import {
  type Account,
  type Address,
  accountEntry,
  addressOfBytes,
  type Instruction,
  instruction,
  parseAddress,
} from '#platform/solana/primitives.ts';
import { createAccount, SYSTEM_PROGRAM } from '#platform/solana/system-program.ts';

/** Addresses of the accounts in which the cluster publishes its clock and its rent. */
const CLOCK_SYSVAR = parseAddress('SysvarC1ock11111111111111111111111111111111');
const RENT_SYSVAR = parseAddress('SysvarRent111111111111111111111111111111111');

/** Length of the header before the program's bytes in a buffer account, bytes. */
export const BUFFER_HEADER_BYTES = 37;
/** Type of a buffer account: the first u32 of the account. The byte at `BUFFER_AUTHORITY_FLAG` is 1 when the account has an authority. */
const BUFFER_STATE = 1;
const BUFFER_AUTHORITY_FLAG = 4;

/** Program bytes per write transaction. A transaction has at most 1,232 bytes and also holds a signature, three keys and a compute budget. */
const WRITE_BYTES = 900;

/** Instruction numbers of the upgradeable loader. */
const INITIALIZE_BUFFER = 0;
const WRITE = 1;
const DEPLOY_WITH_MAX_DATA_LEN = 2;
const UPGRADE = 3;
const SET_AUTHORITY = 4;
const CLOSE = 5;

export type DeploymentSigner = 'payer' | 'buffer' | 'program';

/** A transaction to sign and send. The payer pays its fee. */
export interface DeploymentTransaction {
  readonly instructions: Instruction[];
  readonly signers: DeploymentSigner[];
}

/** A transaction that writes `chunk` at the offset `at` of the buffer account. */
interface DeploymentWrite extends DeploymentTransaction {
  readonly at: number;
  readonly chunk: Uint8Array;
}

/** The transactions of a deployment. */
interface DeploymentTransactions {
  /** Creates the buffer account. */
  readonly begin: DeploymentTransaction;
  /** Write the program's bytes into the buffer. They may be sent in parallel and repeated. */
  readonly writes: readonly DeploymentWrite[];
  /** Creates the program account and deploys the program. Deletes the buffer. */
  readonly end: DeploymentTransaction;
}

interface Deployment {
  readonly payer: Address;
  /** A new key for the buffer account. This account holds the program's bytes until the deployment, which deletes the account. */
  readonly buffer: Address;
  readonly program: Address;
  readonly bytes: Uint8Array;
  /** The authority that may replace the program; null makes the program final. */
  readonly upgradeAuthority: Address | null;
  /** Returns the lamports that make an account of this size rent-exempt. */
  readonly rent: (bytes: number) => Promise<number> | number;
}

const loader = (accounts: Parameters<typeof instruction>[1], data: Buffer) => instruction(UPGRADEABLE_LOADER, accounts, data);

function numbers(kind: number, ...values: readonly bigint[]): Buffer {
  const data = Buffer.alloc(4 + 8 * values.length);
  data.writeUInt32LE(kind);
  for (const [i, value] of values.entries()) data.writeBigUInt64LE(value, 4 + 8 * i);
  return data;
}

function write(deployment: Deployment, offset: number): DeploymentWrite {
  const chunk = deployment.bytes.subarray(offset, offset + WRITE_BYTES);
  const head = Buffer.alloc(16);
  head.writeUInt32LE(WRITE);
  head.writeUInt32LE(offset, 4);
  head.writeBigUInt64LE(BigInt(chunk.length), 8);
  const accounts = [accountEntry(deployment.buffer, true), accountEntry(deployment.payer, false, true)];
  return { at: BUFFER_HEADER_BYTES + offset, chunk, instructions: [loader(accounts, Buffer.concat([head, chunk]))], signers: ['payer'] };
}

/**
 * Builds the instruction that replaces the authority of a buffer account, or of the account at `programDataAddress`. The present authority must sign.
 * @param next null: nobody can change the account any more
 */
export const setAuthority = (account: Address, authority: Address, next: Address | null): Instruction =>
  loader(
    [accountEntry(account, true), accountEntry(authority, false, true), ...(next === null ? [] : [accountEntry(next, false)])],
    numbers(SET_AUTHORITY),
  );

/**
 * Builds the instruction that replaces the bytes of a program by those of a buffer. The upgrade authority must sign, and it must be the authority of the
 * buffer too. The lamports of the buffer go to the authority.
 */
export const upgradeProgram = (program: Address, buffer: Address, authority: Address): Instruction =>
  loader(
    [
      accountEntry(programDataAddress(program), true),
      accountEntry(program, true),
      accountEntry(buffer, true),
      accountEntry(authority, true),
      accountEntry(RENT_SYSVAR, false),
      accountEntry(CLOCK_SYSVAR, false),
      accountEntry(authority, false, true),
    ],
    numbers(UPGRADE),
  );

/** Builds the instruction that deletes a buffer account. Its authority must sign, and gets the lamports. */
export const closeBuffer = (buffer: Address, authority: Address): Instruction =>
  loader([accountEntry(buffer, true), accountEntry(authority, true), accountEntry(authority, false, true)], numbers(CLOSE));

/** Returns the authority of a buffer account, base58; null when the account is not a buffer account with an authority. */
export function bufferAuthority({ owner, data }: Account): string | null {
  const isBuffer = owner.equals(UPGRADEABLE_LOADER) && data.length >= BUFFER_HEADER_BYTES && data.readUInt32LE(0) === BUFFER_STATE;
  if (!isBuffer || data[BUFFER_AUTHORITY_FLAG] !== 1) return null;
  return addressOfBytes(data.subarray(BUFFER_AUTHORITY_FLAG + 1, BUFFER_HEADER_BYTES)).toBase58();
}

/**
 * Returns the transactions of a deployment through the upgradeable loader. The payer is the upgrade authority until `end` sets `upgradeAuthority`, so
 * `upgradeAuthority` need not sign.
 */
export async function deploymentTransactions(deployment: Deployment): Promise<DeploymentTransactions> {
  const { payer, buffer, program, bytes, upgradeAuthority, rent } = deployment;
  const create = (address: Address, space: number, lamports: number) => createAccount({ payer, address, space, lamports, owner: UPGRADEABLE_LOADER });

  const space = BUFFER_HEADER_BYTES + bytes.length;
  const begin: DeploymentTransaction = {
    instructions: [
      create(buffer, space, await rent(space)),
      loader([accountEntry(buffer, true), accountEntry(payer, false)], numbers(INITIALIZE_BUFFER)),
    ],
    signers: ['payer', 'buffer'],
  };

  const writes: DeploymentWrite[] = [];
  for (let offset = 0; offset < bytes.length; offset += WRITE_BYTES) writes.push(write(deployment, offset));

  const deploy = loader(
    [
      accountEntry(payer, true, true),
      accountEntry(programDataAddress(program), true),
      accountEntry(program, true),
      accountEntry(buffer, true),
      accountEntry(RENT_SYSVAR, false),
      accountEntry(CLOCK_SYSVAR, false),
      accountEntry(SYSTEM_PROGRAM, false),
      accountEntry(payer, false, true),
    ],
    numbers(DEPLOY_WITH_MAX_DATA_LEN, BigInt(bytes.length)),
  );
  const handOver = upgradeAuthority?.equals(payer) ? [] : [setAuthority(programDataAddress(program), payer, upgradeAuthority)];
  const end: DeploymentTransaction = {
    instructions: [create(program, PROGRAM_ACCOUNT_BYTES, await rent(PROGRAM_ACCOUNT_BYTES)), deploy, ...handOver],
    signers: ['payer', 'program'],
  };
  return { begin, writes, end };
}
