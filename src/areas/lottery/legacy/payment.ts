import type { Currency } from '#areas/payouts';
import { instantOf, millis } from '#lib/draw/bytes.ts';
import type { LegacyParameters } from '#lib/draw/parameters.ts';
import {
  type FetchedTransaction,
  memosOf,
  type ParsedInstruction,
  type TokenBalance,
  type TransactionOutcome,
} from '#platform/solana/fetched-transaction.ts';
import { type Address, parseAddress } from '#platform/solana/primitives.ts';
import { associatedTokenAddress, TOKEN_PROGRAM } from '#platform/solana/tokens.ts';

/** The refundable amount that a wallet paid to the treasury in one transaction and one currency. */
export interface Refund {
  readonly currency: Currency;
  readonly amount: bigint;
  /**
   * Id of the refund, stored as the `cause` of the payment that refunds the wallet. The id depends only on the transaction, so a repeated check gives
   * the same id.
   */
  readonly cause: string;
}

/** Result of checking a transaction as the payment for a ticket. */
export type PaymentEvaluation =
  /** The RPC node does not have the complete transaction yet. */
  | { readonly verdict: 'unavailable' }
  /** `isLate`: everything but the time of the payment is correct. */
  | { readonly verdict: 'invalid'; readonly reason: string; readonly refunds: readonly Refund[]; readonly isLate: boolean }
  /** The transaction pays for the ticket. `refunds` are paid only if the round is closed or full. */
  | { readonly verdict: 'valid'; readonly at: string; readonly refunds: readonly Refund[] };

/**
 * Transfer instructions of the token program, by opcode.
 * `to`: position of the destination in the instruction's account list.
 * `authority`: position of the authority in the account list.
 * `bytes`: minimum length of the instruction's data.
 */
const TRANSFERS: Readonly<Record<number, { readonly to: number; readonly authority: number; readonly bytes: number }>> = {
  3: { to: 1, authority: 2, bytes: 9 },
  12: { to: 2, authority: 3, bytes: 10 },
};
const TOKENS = TOKEN_PROGRAM.toBase58();

/** Map from the address of each token account of the treasury to the currency of the account. */
export type TreasuryAccounts = ReadonlyMap<string, Currency>;

/** Returns the treasury's token account that receives ticket payments. */
export const ticketAccount = ({ treasury, mint }: Pick<LegacyParameters, 'treasury' | 'mint'>): Address =>
  associatedTokenAddress(parseAddress(treasury), parseAddress(mint));

/**
 * Returns the treasury's token accounts: the account for ticket payments, and the account of the reward token. A ticket payment in the reward token
 * is a mistake and is refunded.
 */
export function treasuryAccounts(parameters: LegacyParameters, rewardMint: string | null): TreasuryAccounts {
  const accounts = new Map<string, Currency>();
  if (rewardMint !== null) accounts.set(ticketAccount({ ...parameters, mint: rewardMint }).toBase58(), 'reward');
  return accounts.set(ticketAccount(parameters).toBase58(), 'usdc');
}

interface Transfer {
  readonly account: string;
  readonly currency: Currency;
  readonly authority: string;
  readonly amount: bigint;
}

function transfersOf(instructions: readonly ParsedInstruction[], accounts: TreasuryAccounts): Transfer[] {
  return instructions.flatMap(({ program, accounts: named, data }): Transfer[] => {
    const form = program === TOKENS ? TRANSFERS[data[0] ?? -1] : undefined;
    if (form === undefined || data.length < form.bytes) return [];
    const [account = '', authority] = [named[form.to], named[form.authority]];
    const currency = accounts.get(account);
    return currency && authority ? [{ account, currency, authority, amount: data.readBigUInt64LE(1) }] : [];
  });
}

const sumOf = (transfers: readonly Transfer[]) => transfers.reduce((sum, { amount }) => sum + amount, 0n);

/** Returns the change of a token account's balance in a transaction, as recorded by the chain. */
function balanceChange({ tokensBefore, tokensAfter }: TransactionOutcome, account: string): bigint {
  const balance = (list: readonly TokenBalance[]) => list.find((one) => one.account === account)?.amount ?? 0n;
  return balance(tokensAfter) - balance(tokensBefore);
}

/**
 * Returns the refunds for a wallet. Transfers with the same payer and the same treasury account form a group, and each group that the wallet paid
 * gives one refund. A group gives no refund if the recorded balance change of the treasury account is less than the sum of all transfers to this
 * account.
 * The id of a refund (`cause`) is the transaction's signature. For every group after the first, the index of the group is appended to the signature.
 */
function refundsOf(wallet: string, signature: string, transfers: readonly Transfer[], arrived: (account: string) => bigint): Refund[] {
  const groups = Map.groupBy(transfers, ({ authority, account }) => `${authority} ${account}`);
  return [...groups.values()].flatMap((group, n): Refund[] => {
    const [{ account, currency, authority } = { account: '', currency: 'usdc' as const, authority: '' }] = group;
    const amount = sumOf(group);
    const all = sumOf(transfers.filter((transfer) => transfer.account === account));
    if (authority !== wallet || amount === 0n || arrived(account) < all) return [];
    return [{ currency, amount, cause: n === 0 ? signature : `${signature}:${n}` }];
  });
}

/**
 * Checks whether a finalized transaction that a wallet names pays for a ticket. Only top-level transfer instructions count as payments. Transfers
 * that another program makes do not count.
 */
export function evaluatePayment(
  transaction: FetchedTransaction,
  wallet: string,
  parameters: LegacyParameters,
  accounts: TreasuryAccounts,
): PaymentEvaluation {
  const { signature, blockTime, signers, instructions, outcome } = transaction;
  if (outcome === null || blockTime === null) return { verdict: 'unavailable' };
  const refuse = (reason: string, refunds: readonly Refund[] = []): PaymentEvaluation => ({ verdict: 'invalid', reason, refunds, isLate: false });
  if (outcome.failed) return refuse('the transaction failed');
  if (!signers.includes(wallet)) return refuse('the transaction must be signed by this wallet');

  const transfers = transfersOf(instructions, accounts);
  const arrived = (account: string) => balanceChange(outcome, account);
  const refunds = refundsOf(wallet, signature, transfers, arrived);
  const payTo = ticketAccount(parameters).toBase58();
  const [transfer, another] = transfers;
  if (!transfer) return refuse(`the transaction must transfer the price to ${payTo}`);
  if (another) return refuse('the transaction must contain exactly one transfer to the treasury', refunds);
  if (transfer.account !== payTo) return refuse('the transaction pays in the wrong token', refunds);
  if (transfer.authority !== wallet) return refuse('this wallet must be the authority of the transfer', refunds);
  if (String(transfer.amount) !== parameters.ticketPrice) {
    return refuse(`the transaction pays ${transfer.amount}, but a ticket costs ${parameters.ticketPrice}`, refunds);
  }
  if (arrived(payTo) !== transfer.amount) return refuse('the transaction must change the treasury’s balance by exactly the price', refunds);
  const memos = memosOf(instructions);
  if (memos.length !== 1 || memos[0] !== parameters.round) return refuse('the transaction must have exactly one memo: the id of this round', refunds);
  const paidAt = blockTime * 1_000;
  if (paidAt >= millis(parameters.closesAt)) {
    return { verdict: 'invalid', reason: 'the payment was made after the round’s closing time', refunds, isLate: true };
  }
  return { verdict: 'valid', at: instantOf(paidAt), refunds };
}

/**
 * Returns the wallet that paid exactly the price of a ticket in a transaction, in time or late. Returns null for a transaction that pays in any other
 * way, and while the RPC node does not have the complete transaction.
 */
export function ticketPayerOf(transaction: FetchedTransaction, parameters: LegacyParameters, accounts: TreasuryAccounts): string | null {
  const [transfer] = transfersOf(transaction.instructions, accounts);
  if (!transfer) return null;
  const evaluation = evaluatePayment(transaction, transfer.authority, parameters, accounts);
  return evaluation.verdict === 'valid' || (evaluation.verdict === 'invalid' && evaluation.isLate) ? transfer.authority : null;
}
