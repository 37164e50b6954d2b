import { createHash } from 'node:crypto';
import { parse } from 'uuid';
import { type Instruction, parseAddress } from '#platform/solana/primitives.ts';
import { advanceNonceInstruction } from '#platform/solana/system-program.ts';
import { associatedTokenAddress, createAssociatedTokenAccount, memo, transferChecked } from '#platform/solana/tokens.ts';
import { computeBudget, fitsIntoTransaction } from '#platform/solana/transactions.ts';

/** One payment in a batch, with its wallet. */
export interface BatchMember {
  readonly payment: string;
  readonly wallet: string;
  readonly amount: bigint;
  /** Whether the batch opens the wallet's token account. The fee payer pays the rent of the account. */
  readonly opens: boolean;
}

/** The terms of a batch: its data without the members. Terms and members together determine all instructions of the batch. */
export interface BatchTerms {
  readonly id: string;
  /** Address of the nonce account that the batch uses. */
  readonly address: string;
  readonly feePayer: string;
  /** Wallet that owns the token account from which the batch pays. */
  readonly treasury: string;
  readonly mint: string;
  readonly decimals: number;
}

/** Returns the hash of the members of a batch: the first 16 bytes, as hex, of SHA-256 over their 16-byte payment ids in batch order. */
export function membersHash(payments: readonly string[]): string {
  const hash = createHash('sha256');
  for (const id of payments) hash.update(parse(id));
  return hash.digest('hex').slice(0, 32);
}

/** Returns the memo that identifies a batch on the chain by its id and its members hash. */
export const payoutMemo = (batch: string, hash: string): string => `coinop:payout:${batch}:${hash}`;

/** Parses the memo of a batch into the batch id and the members hash. Returns null for any other memo. */
export function readPayoutMemo(text: string): { batch: string; hash: string } | null {
  const [, batch, hash] = /^coinop:payout:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):([0-9a-f]{32})$/.exec(text) ?? [];
  return batch !== undefined && hash !== undefined ? { batch, hash } : null;
}

/**
 * Builds the instructions of a batch: first the memo, then one transfer per member. If the batch opens the member's token account, the instruction
 * that opens the account precedes the transfer.
 */
export function batchInstructions(terms: BatchTerms, members: readonly BatchMember[]): Instruction[] {
  const [feePayer, owner, mint] = [parseAddress(terms.feePayer), parseAddress(terms.treasury), parseAddress(terms.mint)];
  const from = associatedTokenAddress(owner, mint);
  const ids = members.map(({ payment }) => payment);
  return [
    memo(payoutMemo(terms.id, membersHash(ids))),
    ...members.flatMap((member) => {
      const wallet = parseAddress(member.wallet);
      const to = associatedTokenAddress(wallet, mint);
      const transfer = transferChecked({ from, to, owner, mint, decimals: terms.decimals, amount: member.amount });
      return member.opens ? [createAssociatedTokenAccount(feePayer, wallet, mint), transfer] : [transfer];
    }),
  ];
}

/**
 * Returns the member whose payment an instruction of a batch serves, and whether the instruction opens the member's token account or transfers
 * tokens. Returns null for an instruction that concerns no member, for example the memo.
 */
export function memberOfInstruction(
  members: readonly BatchMember[],
  instruction: number | null,
): { member: BatchMember; what: 'opening' | 'transfer' } | null {
  if (instruction === null || instruction < 1) return null;
  let next = 1;
  for (const member of members) {
    if (member.opens && instruction === next++) return { member, what: 'opening' };
    if (instruction === next++) return { member, what: 'transfer' };
  }
  return null;
}

/** Returns whether a batch fits into one Solana transaction, together with the nonce and compute budget instructions that every batch begins with. */
export function fits(terms: BatchTerms, members: readonly BatchMember[]): boolean {
  const payer = parseAddress(terms.feePayer);
  const before = [advanceNonceInstruction(parseAddress(terms.address), payer), ...computeBudget(1_400_000, 1)];
  return fitsIntoTransaction(payer, [...before, ...batchInstructions(terms, members)]);
}

/** Returns the first members of the list: the maximum number that fits into one Solana transaction. */
export function packMembers(terms: BatchTerms, members: readonly BatchMember[]): readonly BatchMember[] {
  let fitting = 0;
  while (fitting < members.length && fits(terms, members.slice(0, fitting + 1))) fitting++;
  return members.slice(0, fitting);
}
