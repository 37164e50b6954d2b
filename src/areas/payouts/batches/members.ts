import { membersHash, type PayoutMember, payoutMemo } from '#lib/draw/payout.ts';
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
  readonly cause: PaymentCause;
}

/** The event that causes a payment. */
export interface PaymentCause {
  readonly kind: string;
  readonly id: string;
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

/**
 * Returns the published member for a payment. The cause of a prize is `prize` with the id `<round>:<place>`.
 * @param amount base units
 */
export function publishedMember(
  { id, wallet, amount, cause }: { readonly id: string; readonly wallet: string; readonly amount: bigint | string; readonly cause: PaymentCause },
  mint: string,
): PayoutMember {
  const [, round, place] = (cause.kind === 'prize' && /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):(\d{1,9})$/.exec(cause.id)) || [];
  const prize = round === undefined ? { round: null, place: null } : { round, place: Number(place) };
  return { paymentId: id, ...prize, wallet, amount: String(amount), mint };
}

/** Returns the hash over the members of a batch, which its memo contains. */
export const hashOfMembers = ({ mint }: Pick<BatchTerms, 'mint'>, members: readonly BatchMember[]): string =>
  membersHash(members.map(({ payment, ...member }) => publishedMember({ id: payment, ...member }, mint)));

/**
 * Builds the instructions of a batch: first the memo, then one transfer per member. If the batch opens the member's token account, the instruction
 * that opens the account precedes the transfer.
 */
export function batchInstructions(terms: BatchTerms, members: readonly BatchMember[]): Instruction[] {
  const [feePayer, owner, mint] = [parseAddress(terms.feePayer), parseAddress(terms.treasury), parseAddress(terms.mint)];
  const from = associatedTokenAddress(owner, mint);
  return [
    memo(payoutMemo(terms.id, hashOfMembers(terms, members))),
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
