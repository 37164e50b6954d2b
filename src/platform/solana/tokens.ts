import { type Address, accountEntry, addressOfBytes, deriveAddress, type Instruction, instruction, parseAddress } from './primitives.ts';
import { SYSTEM_PROGRAM } from './system-program.ts';

/** Addresses of Solana programs. They are the same on every cluster. */
export const TOKEN_PROGRAM = parseAddress('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA');
export const ASSOCIATED_TOKEN_PROGRAM = parseAddress('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL');
export const MEMO_PROGRAM = parseAddress('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr');

/** Size of a token account in bytes. The size determines the rent, which is the cost of opening a token account. */
export const TOKEN_ACCOUNT_BYTES = 165;
/** Bytes of a mint account. */
export const MINT_BYTES = 82;

/** Instruction numbers of the token program and of the associated token program. */
const TRANSFER_CHECKED = 12;
const MINT_TO = 7;
const BURN_CHECKED = 15;
const CREATE_IDEMPOTENT = 1;

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
export function associatedTokenAddress(owner: Address, mint: Address): Address {
  return deriveAddress(ASSOCIATED_TOKEN_PROGRAM, owner.toBuffer(), TOKEN_PROGRAM.toBuffer(), mint.toBuffer());
}

/**
 * Builds the instruction that opens a wallet's associated token account; `payer` pays the rent. The instruction does nothing when the account exists.
 */
export function createAssociatedTokenAccount(payer: Address, owner: Address, mint: Address): Instruction {
  return instruction(
    ASSOCIATED_TOKEN_PROGRAM,
    [
      accountEntry(payer, true, true),
      accountEntry(associatedTokenAddress(owner, mint), true),
      accountEntry(owner, false),
      accountEntry(mint, false),
      accountEntry(SYSTEM_PROGRAM, false),
      accountEntry(TOKEN_PROGRAM, false),
    ],
    Buffer.from([CREATE_IDEMPOTENT]),
  );
}

/** Builds the instruction that transfers `amount` base units between token accounts. The token program rejects a wrong mint or wrong decimals. */
export function transferChecked(transfer: {
  from: Address;
  to: Address;
  owner: Address;
  mint: Address;
  decimals: number;
  amount: bigint;
}): Instruction {
  const { from, to, owner, mint, decimals, amount } = transfer;
  return instruction(
    TOKEN_PROGRAM,
    [accountEntry(from, true), accountEntry(mint, false), accountEntry(to, true), accountEntry(owner, false, true)],
    Buffer.concat([Buffer.from([TRANSFER_CHECKED]), u64(amount), Buffer.from([decimals])]),
  );
}

/** Builds the instruction that mints `amount` base units. The mint authority must sign. */
export function mintTo(mint: Address, to: Address, authority: Address, amount: bigint): Instruction {
  return instruction(
    TOKEN_PROGRAM,
    [accountEntry(mint, true), accountEntry(to, true), accountEntry(authority, false, true)],
    Buffer.concat([Buffer.from([MINT_TO]), u64(amount)]),
  );
}

/** Builds the instruction that burns `amount` base units of a token account. The token program rejects a wrong mint or wrong decimals. */
export function burnChecked(burn: { from: Address; owner: Address; mint: Address; decimals: number; amount: bigint }): Instruction {
  return instruction(
    TOKEN_PROGRAM,
    [accountEntry(burn.from, true), accountEntry(burn.mint, true), accountEntry(burn.owner, false, true)],
    Buffer.concat([Buffer.from([BURN_CHECKED]), u64(burn.amount), Buffer.from([burn.decimals])]),
  );
}

/**
 * Builds a memo instruction with a text.
 * @param signers the keys that must sign the memo
 */
export function memo(text: string, signers: readonly Address[] = []): Instruction {
  return instruction(
    MEMO_PROGRAM,
    signers.map((key) => accountEntry(key, false, true)),
    Buffer.from(text, 'utf8'),
  );
}

/** A decoded token account. */
export interface TokenAccount {
  mint: Address;
  owner: Address;
  amount: bigint;
  frozen: boolean;
}

/** Decodes an SPL token account. Returns null for any other account, and for an uninitialized token account. */
export function decodeTokenAccount(account: { owner: Address; data: Buffer } | null): TokenAccount | null {
  if (!account?.owner.equals(TOKEN_PROGRAM) || account.data.length !== TOKEN_ACCOUNT_BYTES) return null;
  const { data } = account;
  const state = data[108];
  if (state !== 1 && state !== 2) return null;
  return {
    mint: addressOfBytes(data.subarray(0, 32)),
    owner: addressOfBytes(data.subarray(32, 64)),
    amount: data.readBigUInt64LE(64),
    frozen: state === 2,
  };
}

/** Decodes a mint of the classic SPL token program. Returns null for any other account, such as a Token-2022 mint. */
export function decodeMint(account: { owner: Address; data: Buffer } | null): { decimals: number; supply: bigint; freezable: boolean } | null {
  if (!account?.owner.equals(TOKEN_PROGRAM) || account.data.length !== MINT_BYTES || account.data[45] !== 1) return null;
  return { supply: account.data.readBigUInt64LE(36), decimals: account.data.readUInt8(44), freezable: account.data.readUInt32LE(46) === 1 };
}
