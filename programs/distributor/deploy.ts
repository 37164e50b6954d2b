import { type PublicKey, SYSVAR_CLOCK_PUBKEY, SYSVAR_RENT_PUBKEY, SystemProgram, TransactionInstruction } from '@solana/web3.js';
import { programDataAddress, UPGRADEABLE_LOADER } from '#platform/solana/distributor/index.ts';

/** Length of the header before the program's bytes in a buffer account, bytes. */
const BUFFER_HEADER_BYTES = 37;
/** Bytes of a program account. */
const PROGRAM_BYTES = 36;

/** Program bytes per write transaction. A transaction has at most 1,232 bytes and also holds a signature, three keys and a compute budget. */
const WRITE_BYTES = 900;

/** Instruction numbers of the upgradeable loader. */
const INITIALIZE_BUFFER = 0;
const WRITE = 1;
const DEPLOY_WITH_MAX_DATA_LEN = 2;
const SET_AUTHORITY = 4;

type DeploymentSigner = 'payer' | 'buffer' | 'program';

/** A transaction to sign and send. The payer pays its fee. */
interface DeploymentTransaction {
  readonly instructions: TransactionInstruction[];
  readonly signers: DeploymentSigner[];
}

interface Deployment {
  readonly payer: PublicKey;
  /** A new key for the buffer account. This account holds the program's bytes until the deployment, which deletes the account. */
  readonly buffer: PublicKey;
  readonly program: PublicKey;
  readonly bytes: Uint8Array;
  /** The authority that may replace the program; null makes the program final. */
  readonly upgradeAuthority: PublicKey | null;
  /** Returns the lamports that make an account of this size rent-exempt. */
  readonly rent: (bytes: number) => Promise<number> | number;
}

const meta = (pubkey: PublicKey, isWritable: boolean, isSigner = false) => ({ pubkey, isWritable, isSigner });

const loader = (keys: ReturnType<typeof meta>[], data: Buffer) => new TransactionInstruction({ programId: UPGRADEABLE_LOADER, keys, data });

function numbers(kind: number, ...values: readonly bigint[]): Buffer {
  const data = Buffer.alloc(4 + 8 * values.length);
  data.writeUInt32LE(kind);
  for (const [i, value] of values.entries()) data.writeBigUInt64LE(value, 4 + 8 * i);
  return data;
}

function write(deployment: Deployment, offset: number): TransactionInstruction {
  const chunk = deployment.bytes.subarray(offset, offset + WRITE_BYTES);
  const head = Buffer.alloc(16);
  head.writeUInt32LE(WRITE);
  head.writeUInt32LE(offset, 4);
  head.writeBigUInt64LE(BigInt(chunk.length), 8);
  return loader([meta(deployment.buffer, true), meta(deployment.payer, false, true)], Buffer.concat([head, chunk]));
}

function setAuthority(deployment: Deployment): TransactionInstruction {
  const next = deployment.upgradeAuthority === null ? [] : [meta(deployment.upgradeAuthority, false)];
  return loader([meta(programDataAddress(deployment.program), true), meta(deployment.payer, false, true), ...next], numbers(SET_AUTHORITY));
}

/**
 * Returns the transactions of a deployment through the upgradeable loader. The first transaction creates the buffer, the last one deploys the
 * program. The write transactions between them may be sent in parallel and repeated. The payer is the upgrade authority until the last transaction
 * sets `upgradeAuthority`, so `upgradeAuthority` need not sign.
 */
export async function deploymentTransactions(deployment: Deployment): Promise<DeploymentTransaction[]> {
  const { payer, buffer, program, bytes, upgradeAuthority, rent } = deployment;
  const create = (newAccountPubkey: PublicKey, space: number, lamports: number) =>
    SystemProgram.createAccount({ fromPubkey: payer, newAccountPubkey, space, lamports, programId: UPGRADEABLE_LOADER });

  const space = BUFFER_HEADER_BYTES + bytes.length;
  const begin: DeploymentTransaction = {
    instructions: [create(buffer, space, await rent(space)), loader([meta(buffer, true), meta(payer, false)], numbers(INITIALIZE_BUFFER))],
    signers: ['payer', 'buffer'],
  };

  const writes: DeploymentTransaction[] = [];
  for (let offset = 0; offset < bytes.length; offset += WRITE_BYTES) {
    writes.push({ instructions: [write(deployment, offset)], signers: ['payer'] });
  }

  const deploy = loader(
    [
      meta(payer, true, true),
      meta(programDataAddress(program), true),
      meta(program, true),
      meta(buffer, true),
      meta(SYSVAR_RENT_PUBKEY, false),
      meta(SYSVAR_CLOCK_PUBKEY, false),
      meta(SystemProgram.programId, false),
      meta(payer, false, true),
    ],
    numbers(DEPLOY_WITH_MAX_DATA_LEN, BigInt(bytes.length)),
  );
  const handOver = upgradeAuthority?.equals(payer) ? [] : [setAuthority(deployment)];
  const end: DeploymentTransaction = {
    instructions: [create(program, PROGRAM_BYTES, await rent(PROGRAM_BYTES)), deploy, ...handOver],
    signers: ['payer', 'program'],
  };
  return [begin, ...writes, end];
}
