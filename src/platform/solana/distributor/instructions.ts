import { type Address, accountEntry, type Instruction, instruction } from '../primitives.ts';
import { SYSTEM_PROGRAM } from '../system-program.ts';
import { associatedTokenAddress, TOKEN_PROGRAM, u64 } from '../tokens.ts';
import { epochAddress, pageAddress, pageOf, u32, vaultAddress } from './addresses.ts';

/** Maximum number of nodes in a Merkle proof. */
export const MAX_PROOF = 32;

/** The first data byte of each instruction. */
const OPEN = 0;
const CLAIM = 1;
const SETTLE = 2;
const CLOSE = 3;
const CLOSE_PAGE = 4;

const MINT_MAY_FREEZE = 1;
const HASH_BYTES = 32;
const CLAIM_HEAD_BYTES = 16;

function hash(bytes: Uint8Array, name: string): Uint8Array {
  if (bytes.length !== HASH_BYTES) throw new RangeError(`${name} must have ${HASH_BYTES} bytes, not ${bytes.length}`);
  return bytes;
}

/**
 * Builds the instruction that opens an epoch. Precondition: the vault holds `total`, so earlier instructions of the same transaction create and fund
 * the vault. When the epoch ends, the unclaimed tokens go to the associated token account of `refundOwner`, which must exist.
 */
export function openEpoch(open: {
  program: Address;
  /** The account that pays the rent of the epoch account. This rent is never refunded. The payer may be the authority. */
  payer: Address;
  authority: Address;
  mint: Address;
  epoch: bigint;
  root: Uint8Array;
  total: bigint;
  leaves: number;
  /** End of the claim period, Unix time in seconds, 1 to 400 days ahead. */
  expiry: number;
  refundOwner: Address;
  /** Whether the mint may have a freeze authority, which could block claims at any time. */
  mintMayFreeze?: boolean;
}): Instruction {
  const { program, payer, authority, mint } = open;
  const epochAccount = epochAddress(program, authority, mint, open.epoch);
  const head = Buffer.from([OPEN, open.mintMayFreeze ? MINT_MAY_FREEZE : 0, 0, 0]);
  return instruction(
    program,
    [
      accountEntry(payer, true, true),
      accountEntry(authority, false, true),
      accountEntry(mint, false),
      accountEntry(epochAccount, true),
      accountEntry(vaultAddress(epochAccount, mint), false),
      accountEntry(associatedTokenAddress(open.refundOwner, mint), false),
      accountEntry(SYSTEM_PROGRAM, false),
    ],
    Buffer.concat([head, u32(open.leaves), u64(open.epoch), u64(open.total), u64(BigInt(open.expiry)), hash(open.root, 'the root')]),
  );
}

/**
 * Builds the instruction that pays the amount of a leaf to the wallet's associated token account, which must exist. Any payer may send the
 * instruction. The payer of the first claim on a bitmap page pays the rent of the page.
 */
export function claimReward(claim: {
  program: Address;
  payer: Address;
  epochAccount: Address;
  mint: Address;
  index: number;
  wallet: Address;
  amount: bigint;
  /** The Merkle proof: sibling hashes from the leaf to the root, 32 bytes each; empty when the leaf is the root. */
  proof: readonly Uint8Array[];
}): Instruction {
  const { program, epochAccount, mint, wallet, proof } = claim;
  if (proof.length > MAX_PROOF) throw new RangeError(`the proof must have at most ${MAX_PROOF} nodes, not ${proof.length}`);
  return instruction(
    program,
    [
      accountEntry(claim.payer, true, true),
      accountEntry(epochAccount, true),
      accountEntry(pageAddress(program, epochAccount, pageOf(claim.index)), true),
      accountEntry(vaultAddress(epochAccount, mint), true),
      accountEntry(wallet, false),
      accountEntry(associatedTokenAddress(wallet, mint), true),
      accountEntry(TOKEN_PROGRAM, false),
      accountEntry(SYSTEM_PROGRAM, false),
    ],
    Buffer.concat([Buffer.from([CLAIM, 0, 0, 0]), u32(claim.index), u64(claim.amount), ...proof.map((node) => hash(node, 'a node'))]),
  );
}

/** The accounts of an instruction that settles or closes an epoch. */
interface EpochEnd {
  program: Address;
  epochAccount: Address;
  authority: Address;
  vault: Address;
  refund: Address;
}

/**
 * Builds the instruction that ends an epoch early. After this instruction no claim is possible, and the unclaimed tokens are refunded. The authority
 * must sign.
 */
export function settleEpoch({ program, epochAccount, authority, vault, refund }: EpochEnd): Instruction {
  return instruction(
    program,
    [
      accountEntry(authority, false, true),
      accountEntry(epochAccount, true),
      accountEntry(vault, true),
      accountEntry(refund, true),
      accountEntry(TOKEN_PROGRAM, false),
    ],
    Buffer.from([SETTLE]),
  );
}

/**
 * Builds the instruction that closes an expired or settled epoch. The tokens in the vault are refunded; the rent of the vault goes to the authority.
 * Any payer may send the instruction.
 */
export function closeEpoch({ program, epochAccount, authority, vault, refund }: EpochEnd): Instruction {
  return instruction(
    program,
    [
      accountEntry(epochAccount, true),
      accountEntry(vault, true),
      accountEntry(refund, true),
      accountEntry(authority, true),
      accountEntry(TOKEN_PROGRAM, false),
    ],
    Buffer.from([CLOSE]),
  );
}

/**
 * Builds the instruction that deletes a bitmap page of a closed epoch. The rent of the page goes to the authority. Any payer may send the
 * instruction.
 */
export function closePage(close: { program: Address; epochAccount: Address; authority: Address; page: number }): Instruction {
  const { program, epochAccount, authority, page } = close;
  return instruction(
    program,
    [accountEntry(epochAccount, false), accountEntry(pageAddress(program, epochAccount, page), true), accountEntry(authority, true)],
    Buffer.from([CLOSE_PAGE]),
  );
}

/** A decoded claim instruction. The caller must check that the transaction of the instruction succeeded. */
interface ParsedClaim {
  readonly payer: Address;
  readonly epochAccount: Address;
  readonly pageAccount: Address;
  readonly wallet: Address;
  readonly destination: Address;
  readonly index: number;
  readonly amount: bigint;
  readonly proof: readonly Buffer[];
}

/**
 * Decodes a claim instruction of the distributor program. Returns null for any other instruction.
 * @param keys the account addresses of the instruction, in the order of the instruction
 */
export function parseClaim(data: Uint8Array, keys: readonly Address[]): ParsedClaim | null {
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
