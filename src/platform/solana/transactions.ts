import { ComputeBudgetProgram, TransactionMessage, VersionedTransaction } from '@solana/web3.js';
import bs58 from 'bs58';
import type { Address, Instruction, Signer } from './primitives.ts';
import type { RoleKey } from './signers/index.ts';

/** Maximum size of a Solana transaction with its signatures, bytes. */
const MAX_BYTES = 1_232;
const SIGNATURE_BYTES = 64;

/** A transaction that is built and not yet signed. */
export type UnsignedTransaction = VersionedTransaction;

/** The bytes of a signed transaction, and its signature in base58. */
interface SignedTransaction {
  readonly signature: string;
  readonly bytes: Buffer;
}

const messageOf = (feePayer: Address, instructions: readonly Instruction[], blockhash: string) =>
  new TransactionMessage({ payerKey: feePayer, recentBlockhash: blockhash, instructions: [...instructions] }).compileToLegacyMessage();

/**
 * Builds a transaction.
 * @param blockhash a recent blockhash, or the value of the nonce that the first instruction advances
 */
export const buildTransaction = (feePayer: Address, instructions: readonly Instruction[], blockhash: string): UnsignedTransaction =>
  new VersionedTransaction(messageOf(feePayer, instructions, blockhash));

/** Returns the accounts that a transaction may write. Transactions that write the same account compete for the account's share of a block. */
export const writableAccounts = ({ message }: UnsignedTransaction): Address[] =>
  message.staticAccountKeys.filter((_, index) => message.isAccountWritable(index));

/** Encodes a transaction with empty signatures as base64, for a wallet that signs it. */
export const encodeUnsigned = (transaction: UnsignedTransaction): string => Buffer.from(transaction.serialize()).toString('base64');

/** Signs a transaction. `signers` must contain every signer that the transaction requires. */
export function signTransaction(transaction: UnsignedTransaction, signers: readonly Signer[]): SignedTransaction {
  transaction.sign([...signers]);
  return signedBytes(transaction);
}

/**
 * Signs a transaction with the keys of roles, all at the same time. `keys` must contain every signer that the transaction requires.
 * @throws 503 when a signer gives no valid signature
 */
export async function signWithRoles(transaction: UnsignedTransaction, keys: readonly RoleKey[]): Promise<SignedTransaction> {
  const required = transaction.message.header.numRequiredSignatures;
  if (keys.length !== required) throw new Error(`the transaction needs ${required} signatures, but ${keys.length} keys are given`);
  const message = transaction.message.serialize();
  const signatures = await Promise.all(keys.map(async (key) => ({ key, signature: await key.sign(message) })));
  for (const { key, signature } of signatures) transaction.addSignature(key.publicKey, signature);
  return signedBytes(transaction);
}

function signedBytes(transaction: UnsignedTransaction): SignedTransaction {
  const first = transaction.signatures[0];
  if (!first) throw new Error('the transaction has no signature');
  return { signature: bs58.encode(first), bytes: Buffer.from(transaction.serialize()) };
}

/** Returns whether instructions fit into one Solana transaction. */
export function fitsIntoTransaction(feePayer: Address, instructions: readonly Instruction[]): boolean {
  // Uses the fee payer as a placeholder for the blockhash. Both have 32 bytes, and only the length of the message is measured.
  const message = messageOf(feePayer, instructions, feePayer.toBase58());
  try {
    return 1 + SIGNATURE_BYTES * message.header.numRequiredSignatures + message.serialize().length <= MAX_BYTES;
  } catch {
    // The message is longer than the buffer of web3.js, so web3.js throws. The instructions do not fit.
    return false;
  }
}

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
