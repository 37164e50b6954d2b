import { readPayoutMemo } from '#lib/draw/payout.ts';
import { advancesNonce, type FetchedTransaction, initializesNonce } from '#platform/solana/fetched-transaction.ts';
import { MEMO_PROGRAM, TOKEN_PROGRAM } from '#platform/solana/tokens.ts';
import { COMPUTE_BUDGET_PROGRAM } from '#platform/solana/transactions.ts';
import type { Transfer } from './entities.ts';
import type { Lane } from './rows.ts';

const TOKENS = TOKEN_PROGRAM.toBase58();
const MEMOS = MEMO_PROGRAM.toBase58();
const COMPUTE_BUDGET = COMPUTE_BUDGET_PROGRAM.toBase58();

/** Number of the instruction TransferChecked in the token program. */
const TRANSFER_CHECKED = 12;

/** A finalized transaction that used a nonce of a lane but is not among the attempts in the database. */
export interface UnknownTransaction {
  readonly signature: string;
  readonly slot: number;
  /** The nonce that the transaction used. */
  readonly nonce: string;
  /** Batch id and members hash from the transaction's memo; null when it has no batch memo. */
  readonly memo: { readonly batch: string; readonly hash: string } | null;
  readonly transfers: readonly Transfer[];
  /** Reason why the transaction need not be matched with payments; null when it must be matched. */
  readonly harmless: string | null;
}

/**
 * Extracts the nonce, the memo and the transfers from a transaction, and decides whether the transaction must be matched with payments. Returns null
 * when the transaction uses no nonce of the lane. Any wallet can name the nonce account, but only a transaction that its authority signed can use it.
 */
export function nonceUseOf(lane: Pick<Lane, 'address' | 'authority'>, signature: string, found: FetchedTransaction): UnknownTransaction | null {
  const { instructions, outcome, signers } = found;
  const [first, ...others] = instructions;
  if (first === undefined || !advancesNonce(first, lane.address) || !signers.includes(lane.authority)) return null;
  const transfers = others.flatMap(({ program, accounts, data }): Transfer[] => {
    const [, mint, to] = accounts;
    const isTransfer = program === TOKENS && data[0] === TRANSFER_CHECKED && data.length === 10;
    return isTransfer && mint && to ? [{ to, mint, amount: String(data.readBigUInt64LE(1)) }] : [];
  });
  const memos = others.flatMap(({ program, data }) => (program === MEMOS ? [readPayoutMemo(data.toString('utf8'))] : []));
  const memo = memos.find((one) => one !== null) ?? null;
  const movesNothing = others.every(({ program }) => program === MEMOS || program === COMPUTE_BUDGET);
  const failed = outcome?.failed ? 'the transaction landed with an error' : null;
  const harmless = failed ?? (movesNothing ? 'the transaction only advances the nonce' : null);
  return { signature, slot: found.slot, nonce: found.blockhash, memo, transfers, harmless };
}

/** Returns whether a transaction opened the nonce account of a lane. */
export const opensLane = ({ address }: Pick<Lane, 'address'>, { instructions, outcome }: FetchedTransaction): boolean =>
  outcome?.failed === false && instructions.some((instruction) => initializesNonce(instruction, address));
