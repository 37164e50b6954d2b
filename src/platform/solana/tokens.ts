import { PublicKey, SystemProgram, TransactionInstruction } from '@solana/web3.js';

/** Addresses of Solana programs. They are the same on every cluster. */
export const TOKEN_PROGRAM = new PublicKey('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA');
export const ASSOCIATED_TOKEN_PROGRAM = new PublicKey('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL');
export const MEMO_PROGRAM = new PublicKey('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr');

/** Size of a token account in bytes. The size determines the rent, which is the cost of opening a token account. */
export const TOKEN_ACCOUNT_BYTES = 165;
/** Bytes of a mint account. */
export const MINT_BYTES = 82;

/** Instruction numbers of the token program and of the associated token program. */
const TRANSFER_CHECKED = 12;
const MINT_TO = 7;
const CREATE_IDEMPOTENT = 1;

const at = (pubkey: PublicKey, isWritable: boolean, isSigner = false) => ({ pubkey, isWritable, isSigner });

/**
 * Encodes an unsigned 64-bit integer, little-endian.
 * @throws RangeError when the value is not in 0 to 2^64 − 1
 */
export function u64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return bytes;
}

/** Derives the associated token address of an owner and a mint. The owner may be a program-derived address. */
export function associatedTokenAddress(owner: PublicKey, mint: PublicKey): PublicKey {
  return PublicKey.findProgramAddressSync([owner.toBuffer(), TOKEN_PROGRAM.toBuffer(), mint.toBuffer()], ASSOCIATED_TOKEN_PROGRAM)[0];
}

/**
 * Builds the instruction that opens a wallet's associated token account; `payer` pays the rent. The instruction does nothing when the account exists.
 */
export function createAssociatedTokenAccount(payer: PublicKey, owner: PublicKey, mint: PublicKey): TransactionInstruction {
  return new TransactionInstruction({
    programId: ASSOCIATED_TOKEN_PROGRAM,
    keys: [
      at(payer, true, true),
      at(associatedTokenAddress(owner, mint), true),
      at(owner, false),
      at(mint, false),
      at(SystemProgram.programId, false),
      at(TOKEN_PROGRAM, false),
    ],
    data: Buffer.from([CREATE_IDEMPOTENT]),
  });
}

/** Builds the instruction that transfers `amount` base units between token accounts. The token program rejects a wrong mint or wrong decimals. */
export function transferChecked(transfer: {
  from: PublicKey;
  to: PublicKey;
  owner: PublicKey;
  mint: PublicKey;
  decimals: number;
  amount: bigint;
}): TransactionInstruction {
  const { from, to, owner, mint, decimals, amount } = transfer;
  return new TransactionInstruction({
    programId: TOKEN_PROGRAM,
    keys: [at(from, true), at(mint, false), at(to, true), at(owner, false, true)],
    data: Buffer.concat([Buffer.from([TRANSFER_CHECKED]), u64(amount), Buffer.from([decimals])]),
  });
}

/** Builds the instruction that mints `amount` base units. The mint authority must sign. */
export function mintTo(mint: PublicKey, to: PublicKey, authority: PublicKey, amount: bigint): TransactionInstruction {
  return new TransactionInstruction({
    programId: TOKEN_PROGRAM,
    keys: [at(mint, true), at(to, true), at(authority, false, true)],
    data: Buffer.concat([Buffer.from([MINT_TO]), u64(amount)]),
  });
}

/**
 * Builds a memo instruction with a text.
 * @param signers the keys that must sign the memo
 */
export function memo(text: string, signers: readonly PublicKey[] = []): TransactionInstruction {
  return new TransactionInstruction({ programId: MEMO_PROGRAM, keys: signers.map((key) => at(key, false, true)), data: Buffer.from(text, 'utf8') });
}

/** A decoded token account. */
export interface TokenAccount {
  mint: PublicKey;
  owner: PublicKey;
  amount: bigint;
  frozen: boolean;
}

/** Decodes an SPL token account. Returns null for any other account, and for an uninitialized token account. */
export function decodeTokenAccount(account: { owner: PublicKey; data: Buffer } | null): TokenAccount | null {
  if (!account?.owner.equals(TOKEN_PROGRAM) || account.data.length !== TOKEN_ACCOUNT_BYTES) return null;
  const { data } = account;
  const state = data[108];
  if (state !== 1 && state !== 2) return null;
  return {
    mint: new PublicKey(data.subarray(0, 32)),
    owner: new PublicKey(data.subarray(32, 64)),
    amount: data.readBigUInt64LE(64),
    frozen: state === 2,
  };
}

/** Decodes a mint of the classic SPL token program. Returns null for any other account, such as a Token-2022 mint. */
export function decodeMint(account: { owner: PublicKey; data: Buffer } | null): { decimals: number; supply: bigint; freezable: boolean } | null {
  if (!account?.owner.equals(TOKEN_PROGRAM) || account.data.length !== MINT_BYTES || account.data[45] !== 1) return null;
  return { supply: account.data.readBigUInt64LE(36), decimals: account.data.readUInt8(44), freezable: account.data.readUInt32LE(46) === 1 };
}
