import { createPrivateKey, sign } from 'node:crypto';
import { Keypair, PublicKey, type TransactionError as RpcTransactionError, TransactionInstruction } from '@solana/web3.js';
import bs58 from 'bs58';

/**
 * The basic values of the chain. They are types of @solana/web3.js under names of this project. Only this folder imports the library, so another
 * library can replace it here.
 */

/** The address of an account on the chain. Code outside this folder uses only `equals`, `toBase58` and `toBytes`. */
export type Address = PublicKey;
/** A key pair that signs transactions. `publicKey` is its address. */
export type Signer = Keypair;
/** An instruction of a transaction. Code outside this folder passes instructions on and does not read them. */
export type Instruction = TransactionInstruction;
/** The error of a transaction, in the format of RPC nodes. */
export type TransactionError = RpcTransactionError;

/**
 * Parses an address in base58.
 * @throws when the text is not an address
 */
export const parseAddress = (text: string): Address => new PublicKey(text);

/** Returns the address that consists of the given 32 bytes. */
export const addressOfBytes = (bytes: Uint8Array): Address => new PublicKey(bytes);

/** The address of 32 zero bytes. */
export const ZERO_ADDRESS: Address = PublicKey.default;

/** Returns whether an address can have a private key. It is false for program-derived addresses. */
export const isOnCurve = (address: Address): boolean => PublicKey.isOnCurve(address.toBytes());

/** Addresses that were derived last, keyed by the bytes of the program and the seeds. A derivation takes a fifth of a millisecond. */
const derived = new Map<string, Address>();
const MAX_DERIVED = 10_000;

/** Derives an address that belongs to a program. */
export function deriveAddress(program: Address, ...seeds: readonly Uint8Array[]): Address {
  // A seed has at most 32 bytes, so one byte holds its length.
  const key = Buffer.concat([program.toBytes(), ...seeds.flatMap((seed) => [Buffer.from([seed.length]), seed])]).toString('latin1');
  const known = derived.get(key);
  if (known !== undefined) return known;
  const [address] = PublicKey.findProgramAddressSync([...seeds], program);
  if (derived.size >= MAX_DERIVED) derived.clear();
  derived.set(key, address);
  return address;
}

/** Derives a key pair from a seed of 32 bytes. */
export const signerFromSeed = (seed: Uint8Array): Signer => Keypair.fromSeed(seed);

/** PKCS #8 prefix of a raw ed25519 seed (RFC 8410). */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Returns a function that signs messages with a key pair. OpenSSL is 16 times as fast as curve arithmetic in JavaScript. */
export function signMessage({ secretKey }: Signer): (message: Uint8Array) => Uint8Array {
  const key = createPrivateKey({ key: Buffer.concat([PKCS8, secretKey.subarray(0, 32)]), format: 'der', type: 'pkcs8' });
  return (message) => sign(null, message, key);
}

/** Creates a random key pair. */
export const newSigner = (): Signer => Keypair.generate();

/**
 * Parses a secret key: a JSON array of 64 numbers, or 64 bytes as base58. Returns null when the text has another form, or when the public half of the
 * key does not match its secret half.
 */
export function parseSecretKey(text: string): Signer | null {
  const bytes = text.startsWith('[') ? jsonBytes(text) : bs58.decodeUnsafe(text);
  if (bytes?.length !== 64) return null;
  try {
    return Keypair.fromSecretKey(bytes);
  } catch {
    return null;
  }
}

function jsonBytes(text: string): Uint8Array | null {
  try {
    const value: unknown = JSON.parse(text);
    const isByte = (n: unknown): n is number => typeof n === 'number' && Number.isInteger(n) && n >= 0 && n <= 255;
    return Array.isArray(value) && value.every(isByte) ? Uint8Array.from(value) : null;
  } catch {
    return null;
  }
}

/** An account on the chain. */
export interface Account {
  /** The program that owns the account. */
  readonly owner: Address;
  readonly lamports: number;
  readonly data: Buffer;
}

/** The owner and the data of an account; null when the account does not exist. */
export type RawAccount = { readonly owner: Address; readonly data: Uint8Array } | null;

/** An account as an RPC node returned it; null when the account does not exist. */
export type FetchedAccount = Account | null;

/** An account of an instruction, and how the instruction uses the account. */
interface InstructionAccount {
  readonly pubkey: Address;
  readonly isWritable: boolean;
  readonly isSigner: boolean;
}

/** Returns an entry for the account list of an instruction. */
export const accountEntry = (pubkey: Address, isWritable: boolean, isSigner = false): InstructionAccount => ({ pubkey, isWritable, isSigner });

/** Builds an instruction of a program. */
export const instruction = (program: Address, accounts: readonly InstructionAccount[], data: Buffer): Instruction =>
  new TransactionInstruction({ programId: program, keys: [...accounts], data });
