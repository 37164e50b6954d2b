import { type PublicKey, SystemProgram, TransactionInstruction } from '@solana/web3.js';
import { associatedTokenAddress, TOKEN_PROGRAM, u64 } from '../tokens.ts';
import { epochAddress, pageAddress, pageOf, u32, vaultAddress } from './addresses.ts';

/** The longest proof a claim may bring. */
export const MAX_PROOF = 32;

/** The program's instructions, by the first byte of their data. */
const OPEN = 0;
const CLAIM = 1;
const SETTLE = 2;
const CLOSE = 3;
const CLOSE_PAGE = 4;

const MINT_MAY_FREEZE = 1;
const HASH_BYTES = 32;
const CLAIM_HEAD_BYTES = 16;

const meta = (pubkey: PublicKey, isWritable: boolean, isSigner = false) => ({ pubkey, isWritable, isSigner });

function hash(bytes: Uint8Array, name: string): Uint8Array {
  if (bytes.length !== HASH_BYTES) throw new RangeError(`${name} has ${bytes.length} bytes, not ${HASH_BYTES}`);
  return bytes;
}

/**
 * Publishes an epoch. Its vault must hold `total` by then: opening the vault's token account, paying it and this go into one transaction.
 * What is left of it in the end goes to the associated token account of `refundOwner`, which must exist.
 */
export function openEpoch(open: {
  program: PublicKey;
  /** Pays the rent of the epoch's account, which is never given back; may be the authority. */
  payer: PublicKey;
  authority: PublicKey;
  mint: PublicKey;
  epoch: bigint;
  root: Uint8Array;
  total: bigint;
  leaves: number;
  /** Unix time in seconds, between a day and 400 days ahead. */
  expiry: number;
  refundOwner: PublicKey;
  /** Takes a mint that has a freeze authority, who can stop claims at will. */
  mintMayFreeze?: boolean;
}): TransactionInstruction {
  const { program, payer, authority, mint } = open;
  const epochAccount = epochAddress(program, authority, mint, open.epoch);
  const head = Buffer.from([OPEN, open.mintMayFreeze ? MINT_MAY_FREEZE : 0, 0, 0]);
  return new TransactionInstruction({
    programId: program,
    keys: [
      meta(payer, true, true),
      meta(authority, false, true),
      meta(mint, false),
      meta(epochAccount, true),
      meta(vaultAddress(epochAccount, mint), false),
      meta(associatedTokenAddress(open.refundOwner, mint), false),
      meta(SystemProgram.programId, false),
    ],
    data: Buffer.concat([head, u32(open.leaves), u64(open.epoch), u64(open.total), u64(BigInt(open.expiry)), hash(open.root, 'the root')]),
  });
}

/** Pays a leaf to its wallet's associated token account, which must exist. Anybody may send it, and pays the rent of a page it is the first of. */
export function claimReward(claim: {
  program: PublicKey;
  payer: PublicKey;
  epochAccount: PublicKey;
  mint: PublicKey;
  index: number;
  wallet: PublicKey;
  amount: bigint;
  /** The siblings from the leaf up, 32 bytes each; none where the leaf is the root. */
  proof: readonly Uint8Array[];
}): TransactionInstruction {
  const { program, epochAccount, mint, wallet, proof } = claim;
  if (proof.length > MAX_PROOF) throw new RangeError(`the proof has ${proof.length} nodes, more than ${MAX_PROOF}`);
  return new TransactionInstruction({
    programId: program,
    keys: [
      meta(claim.payer, true, true),
      meta(epochAccount, true),
      meta(pageAddress(program, epochAccount, pageOf(claim.index)), true),
      meta(vaultAddress(epochAccount, mint), true),
      meta(wallet, false),
      meta(associatedTokenAddress(wallet, mint), true),
      meta(TOKEN_PROGRAM, false),
      meta(SystemProgram.programId, false),
    ],
    data: Buffer.concat([Buffer.from([CLAIM, 0, 0, 0]), u32(claim.index), u64(claim.amount), ...proof.map((node) => hash(node, 'a node'))]),
  });
}

/** What ends an epoch: its address, and what its account says. */
interface Ending {
  program: PublicKey;
  epochAccount: PublicKey;
  authority: PublicKey;
  vault: PublicKey;
  refund: PublicKey;
}

/** Ends an epoch before its time, for ever: nothing can be claimed any more, and what is left goes back. The authority signs. */
export function settleEpoch({ program, epochAccount, authority, vault, refund }: Ending): TransactionInstruction {
  return new TransactionInstruction({
    programId: program,
    keys: [meta(authority, false, true), meta(epochAccount, true), meta(vault, true), meta(refund, true), meta(TOKEN_PROGRAM, false)],
    data: Buffer.from([SETTLE]),
  });
}

/** Closes an epoch that is expired or settled: the vault's tokens go back, its rent to the authority. Anybody may send it. */
export function closeEpoch({ program, epochAccount, authority, vault, refund }: Ending): TransactionInstruction {
  return new TransactionInstruction({
    programId: program,
    keys: [meta(epochAccount, true), meta(vault, true), meta(refund, true), meta(authority, true), meta(TOKEN_PROGRAM, false)],
    data: Buffer.from([CLOSE]),
  });
}

/** Takes a page of a closed epoch back, its rent to the authority. Anybody may send it. */
export function closePage(close: { program: PublicKey; epochAccount: PublicKey; authority: PublicKey; page: number }): TransactionInstruction {
  const { program, epochAccount, authority, page } = close;
  return new TransactionInstruction({
    programId: program,
    keys: [meta(epochAccount, false), meta(pageAddress(program, epochAccount, page), true), meta(authority, true)],
    data: Buffer.from([CLOSE_PAGE]),
  });
}

/** A claim as somebody's transaction has it. That the transaction succeeded is for the caller to know. */
export interface ParsedClaim {
  readonly payer: PublicKey;
  readonly epochAccount: PublicKey;
  readonly pageAccount: PublicKey;
  readonly wallet: PublicKey;
  readonly destination: PublicKey;
  readonly index: number;
  readonly amount: bigint;
  readonly proof: readonly Buffer[];
}

/** Reads a claim back from an instruction of this program: its data and its accounts in order. Null for any other instruction. */
export function parseClaim(data: Uint8Array, keys: readonly PublicKey[]): ParsedClaim | null {
  const bytes = Buffer.from(data);
  const nodes = (bytes.length - CLAIM_HEAD_BYTES) / HASH_BYTES;
  if (!Number.isInteger(nodes) || nodes < 0 || nodes > MAX_PROOF || bytes.readUInt32LE(0) !== CLAIM) return null;
  const [payer, epochAccount, pageAccount, , wallet, destination] = keys;
  if (keys.length !== 8 || !payer || !epochAccount || !pageAccount || !wallet || !destination) return null;
  return {
    payer,
    epochAccount,
    pageAccount,
    wallet,
    destination,
    index: bytes.readUInt32LE(4),
    amount: bytes.readBigUInt64LE(8),
    proof: Array.from({ length: nodes }, (_, i) => bytes.subarray(CLAIM_HEAD_BYTES + i * HASH_BYTES, CLAIM_HEAD_BYTES + (i + 1) * HASH_BYTES)),
  };
}
