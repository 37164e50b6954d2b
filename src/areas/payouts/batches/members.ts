import { createHash } from 'node:crypto';
import { ComputeBudgetProgram, PublicKey, SystemProgram, type TransactionInstruction, TransactionMessage } from '@solana/web3.js';
import { parse } from 'uuid';
import { associatedTokenAddress, createAssociatedTokenAccount, memo, transferChecked } from '#platform/solana/tokens.ts';

/** One payment in a batch. */
export interface Member {
  readonly payment: string;
  readonly wallet: string;
  readonly amount: bigint;
  /** Whether the wallet's token account is opened for it, at our cost. */
  readonly opens: boolean;
}

/** What a batch is made of besides its members. Together with them it decides its instructions, byte for byte. */
export interface Terms {
  readonly id: string;
  /** The nonce account of its lane. */
  readonly address: string;
  readonly feePayer: string;
  /** Who owns the tokens that are paid out. */
  readonly treasury: string;
  readonly mint: string;
  readonly decimals: number;
}

/** SHA-256 over the 16-byte ids of the members in their order, its first 16 bytes as hex. */
export function membersHash(payments: readonly string[]): string {
  const hash = createHash('sha256');
  for (const id of payments) hash.update(parse(id));
  return hash.digest('hex').slice(0, 32);
}

/** What a batch says of itself on the chain. */
export const payoutMemo = (batch: string, hash: string): string => `coinop:payout:${batch}:${hash}`;

/** The batch and the hash in a memo; null for any other memo. */
export function readPayoutMemo(text: string): { batch: string; hash: string } | null {
  const [, batch, hash] = /^coinop:payout:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):([0-9a-f]{32})$/.exec(text) ?? [];
  return batch !== undefined && hash !== undefined ? { batch, hash } : null;
}

/** The instructions of a batch: its memo, then for each member the opening of its account, where there is one, and the transfer. */
export function instructionsOf(terms: Terms, members: readonly Member[]): TransactionInstruction[] {
  const [feePayer, owner, mint] = [new PublicKey(terms.feePayer), new PublicKey(terms.treasury), new PublicKey(terms.mint)];
  const from = associatedTokenAddress(owner, mint);
  const ids = members.map(({ payment }) => payment);
  return [
    memo(payoutMemo(terms.id, membersHash(ids))),
    ...members.flatMap((member) => {
      const wallet = new PublicKey(member.wallet);
      const to = associatedTokenAddress(wallet, mint);
      const transfer = transferChecked({ from, to, owner, mint, decimals: terms.decimals, amount: member.amount });
      return member.opens ? [createAssociatedTokenAccount(feePayer, wallet, mint), transfer] : [transfer];
    }),
  ];
}

/** The member that an instruction of a batch is about, and which of its two; null for what belongs to none. */
export function memberAt(members: readonly Member[], instruction: number | null): { member: Member; what: 'opening' | 'transfer' } | null {
  if (instruction === null || instruction < 1) return null;
  let next = 1;
  for (const member of members) {
    if (member.opens && instruction === next++) return { member, what: 'opening' };
    if (instruction === next++) return { member, what: 'transfer' };
  }
  return null;
}

/** The most bytes that a transaction may have, signatures included. */
const MOST_BYTES = 1_232;
const SIGNATURE_BYTES = 64;

/** Whether a batch fits into one transaction, with all that is put before its instructions. */
export function fits(terms: Terms, members: readonly Member[]): boolean {
  const payer = new PublicKey(terms.feePayer);
  const before = [
    SystemProgram.nonceAdvance({ noncePubkey: new PublicKey(terms.address), authorizedPubkey: payer }),
    ComputeBudgetProgram.setComputeUnitLimit({ units: 1_400_000 }),
    ComputeBudgetProgram.setComputeUnitPrice({ microLamports: 1 }),
  ];
  const message = new TransactionMessage({
    payerKey: payer,
    // Any 32 bytes: only the length counts here.
    recentBlockhash: terms.mint,
    instructions: [...before, ...instructionsOf(terms, members)],
  }).compileToLegacyMessage();
  try {
    return 1 + SIGNATURE_BYTES * message.header.numRequiredSignatures + message.serialize().length <= MOST_BYTES;
  } catch {
    // Larger than what web3.js has room for.
    return false;
  }
}

/** As many members as fit, from the first on; at most as many as there can ever be in one transaction. */
export function packed(terms: Terms, members: readonly Member[]): readonly Member[] {
  let fitting = 0;
  while (fitting < members.length && fits(terms, members.slice(0, fitting + 1))) fitting++;
  return members.slice(0, fitting);
}
