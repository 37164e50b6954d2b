import { ComputeBudgetProgram } from '@solana/web3.js';
import bs58 from 'bs58';
import { type Address, type Instruction, parseAddress, type Signer, signMessage } from './primitives.ts';
import type { RoleKey } from './signers/index.ts';

/** Maximum size of a Solana transaction with its signatures, bytes. */
const MAX_BYTES = 1_232;
const SIGNATURE_BYTES = 64;
/** Maximum number of signatures: their number has one byte. More do not fit into a transaction anyway. */
const MAX_SIGNATURES = 127;

/** A transaction that is built and not yet signed. */
export interface UnsignedTransaction {
  /** The addresses that must sign, in the order of their signatures. The first one is the fee payer. */
  readonly signers: readonly Address[];
  /** The accounts that the transaction may write. Transactions that write the same account compete for the account's share of a block. */
  readonly writable: readonly Address[];
  /** The bytes that the signers sign: a message of the version `legacy`. */
  readonly message: Buffer;
}

/** The bytes of a signed transaction, and its signature in base58. */
interface SignedTransaction {
  readonly signature: string;
  readonly bytes: Buffer;
}

/** An account of a message, and how its instructions use it. */
interface MessageAccount {
  readonly address: Address;
  isSigner: boolean;
  isWritable: boolean;
}

/**
 * Builds a transaction. The project builds messages itself, because web3.js converts the data of each instruction to base58 and back, which takes longer than
 * all other work on a transaction.
 * @param blockhash a recent blockhash, or the value of the nonce that the first instruction advances
 */
export function buildTransaction(feePayer: Address, instructions: readonly Instruction[], blockhash: string): UnsignedTransaction {
  const { accounts, indexOf } = accountsOf(feePayer, instructions);
  const signers = accounts.filter(({ isSigner }) => isSigner);
  const readOnly = (list: readonly MessageAccount[]) => list.filter(({ isWritable }) => !isWritable).length;
  const parts = [
    Buffer.from([signers.length, readOnly(signers), readOnly(accounts) - readOnly(signers)]),
    compactLength(accounts.length),
    ...accounts.map(({ address }) => address.toBytes()),
    parseAddress(blockhash).toBytes(),
    compactLength(instructions.length),
    ...instructions.flatMap(({ programId, keys, data }) => [
      Buffer.from([indexOf(programId)]),
      compactLength(keys.length),
      Buffer.from(keys.map(({ pubkey }) => indexOf(pubkey))),
      compactLength(data.length),
      data,
    ]),
  ];
  return {
    signers: signers.map(({ address }) => address),
    writable: accounts.filter(({ isWritable }) => isWritable).map(({ address }) => address),
    message: Buffer.concat(parts),
  };
}

/** Returns the accounts of a message in their order: signers before others, and in each group writable ones first; the fee payer is the first of all. */
function accountsOf(feePayer: Address, instructions: readonly Instruction[]): { accounts: MessageAccount[]; indexOf: (address: Address) => number } {
  const keyOf = (address: Address) => Buffer.from(address.toBytes()).toString('latin1');
  const found = new Map<string, MessageAccount>();
  const add = (address: Address, isSigner: boolean, isWritable: boolean) => {
    const key = keyOf(address);
    const known = found.get(key);
    if (known === undefined) {
      found.set(key, { address, isSigner, isWritable });
    } else {
      known.isSigner ||= isSigner;
      known.isWritable ||= isWritable;
    }
  };
  add(feePayer, true, true);
  for (const { programId, keys } of instructions) {
    add(programId, false, false);
    for (const { pubkey, isSigner, isWritable } of keys) add(pubkey, isSigner, isWritable);
  }
  const group = ({ isSigner, isWritable }: MessageAccount) => (isSigner ? 0 : 2) + (isWritable ? 0 : 1);
  // The sort is stable, so the fee payer stays the first account.
  const sorted = [...found].sort(([, a], [, b]) => group(a) - group(b));
  if (sorted.length > 256) throw new RangeError(`a transaction must have at most 256 accounts, not ${sorted.length}`);
  const indexes = new Map(sorted.map(([key], index) => [key, index]));
  const indexOf = (address: Address) => {
    const index = indexes.get(keyOf(address));
    if (index === undefined) throw new Error(`the message has no account ${address.toBase58()}`);
    return index;
  };
  return { accounts: sorted.map(([, account]) => account), indexOf };
}

/** Encodes a length as Solana does: seven bits per byte, the lowest ones first; the highest bit says that another byte follows. */
function compactLength(length: number): Buffer {
  const bytes: number[] = [];
  for (let rest = length; ; rest >>= 7) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest & 127) | 128);
  }
}

const sizeOf = ({ signers, message }: UnsignedTransaction): number => 1 + SIGNATURE_BYTES * signers.length + message.length;

/** Serializes a transaction. @throws RangeError when it is longer than `MAX_BYTES` */
function serialize(transaction: UnsignedTransaction, signatures: readonly Uint8Array[]): Buffer {
  const size = sizeOf(transaction);
  if (size > MAX_BYTES || signatures.length > MAX_SIGNATURES) throw new RangeError(`a transaction must have at most ${MAX_BYTES} bytes, not ${size}`);
  return Buffer.concat([Buffer.from([signatures.length]), ...signatures, transaction.message]);
}

/** Serializes a transaction with empty signatures, for a simulation or for a wallet that signs it. @returns base64 */
export const encodeUnsigned = (transaction: UnsignedTransaction): string =>
  serialize(
    transaction,
    transaction.signers.map(() => Buffer.alloc(SIGNATURE_BYTES)),
  ).toString('base64');

/** Signs a transaction. `signers` must contain every signer that the transaction requires. */
export const signTransaction = (transaction: UnsignedTransaction, signers: readonly Signer[]): SignedTransaction =>
  withSignatures(
    transaction,
    inOrder(transaction, signers).map((signer) => signMessage(signer)(transaction.message)),
  );

/**
 * Signs a transaction with the keys of roles, all at the same time. `keys` must contain every signer that the transaction requires.
 * @throws 503 when a signer gives no valid signature
 */
export async function signWithRoles(transaction: UnsignedTransaction, keys: readonly RoleKey[]): Promise<SignedTransaction> {
  const signatures = await Promise.all(inOrder(transaction, keys).map(async (key) => await key.sign(transaction.message)));
  return withSignatures(transaction, signatures);
}

/** Returns the keys in the order in which the transaction has their signatures. @throws when `keys` are not exactly the required ones */
function inOrder<Key extends Signer | RoleKey>({ signers }: UnsignedTransaction, keys: readonly Key[]): Key[] {
  const ordered = signers.flatMap((address) => keys.find(({ publicKey }) => publicKey.equals(address)) ?? []);
  if (ordered.length === signers.length && keys.length === signers.length) return ordered;
  throw new Error(`the transaction needs ${signers.length} signatures, but ${ordered.length} of the ${keys.length} given keys are among its signers`);
}

function withSignatures(transaction: UnsignedTransaction, signatures: readonly Uint8Array[]): SignedTransaction {
  const [first] = signatures;
  if (!first) throw new Error('the transaction has no signature');
  return { signature: bs58.encode(first), bytes: serialize(transaction, signatures) };
}

/** Returns whether instructions fit into one Solana transaction. */
export const fitsIntoTransaction = (feePayer: Address, instructions: readonly Instruction[]): boolean =>
  // Uses the fee payer as a placeholder for the blockhash. Both have 32 bytes, and only the length of the message is measured.
  sizeOf(buildTransaction(feePayer, instructions, feePayer.toBase58())) <= MAX_BYTES;

/** Address of the compute budget program. */
export const COMPUTE_BUDGET_PROGRAM: Address = ComputeBudgetProgram.programId;

/** Builds the instruction that limits the compute units of a transaction. */
export const computeUnitLimit = (units: number): Instruction => ComputeBudgetProgram.setComputeUnitLimit({ units });

/**
 * Returns the compute budget instructions, which set the limit of compute units and the priority price (millionths of a lamport per compute unit).
 * They come before the other instructions of a transaction. A priority price of 0 needs no price instruction.
 */
export function computeBudget(units: number, price: number): Instruction[] {
  return price === 0 ? [computeUnitLimit(units)] : [computeUnitLimit(units), ComputeBudgetProgram.setComputeUnitPrice({ microLamports: price })];
}
