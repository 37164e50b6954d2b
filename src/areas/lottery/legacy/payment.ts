import { PublicKey, type VersionedTransactionResponse } from '@solana/web3.js';
import type { Currency } from '#areas/payouts';
import { instantOf, millis } from '#lib/draw/bytes.ts';
import type { LegacyParameters } from '#lib/draw/parameters.ts';
import { addressesOf, type Instruction, instructionsOf, memosOf, signersOf } from '#platform/solana/instructions.ts';
import { associatedTokenAddress, TOKEN_PROGRAM } from '#platform/solana/tokens.ts';

/** What a wallet has paid to the treasury in a transaction, in one currency. */
export interface PaidBack {
  readonly currency: Currency;
  readonly amount: bigint;
  /** What it is owed back for. It follows from the transaction alone, and no two payments in it share one. */
  readonly cause: string;
}

/** What a final transaction is to a ticket. */
export type Judgement =
  /** The node does not know all of it yet. */
  | { readonly verdict: 'unread' }
  | { readonly verdict: 'refuse'; readonly reason: string; readonly refunds: readonly PaidBack[] }
  /** It pays for the ticket, unless the round is closed or full: then it is paid back. */
  | { readonly verdict: 'pays'; readonly at: string; readonly refunds: readonly PaidBack[] };

/** The token program's transfers: the place of the destination and of the authority among their accounts, and their least length. */
const TRANSFERS: Readonly<Record<number, { readonly to: number; readonly authority: number; readonly bytes: number }>> = {
  3: { to: 1, authority: 2, bytes: 9 },
  12: { to: 2, authority: 3, bytes: 10 },
};
const TOKENS = TOKEN_PROGRAM.toBase58();

/** Where payments to the treasury arrive, by address. */
export type Accounts = ReadonlyMap<string, Currency>;

/** Where a ticket is paid to. */
export const ticketAccount = ({ treasury, mint }: Pick<LegacyParameters, 'treasury' | 'mint'>): PublicKey =>
  associatedTokenAddress(new PublicKey(treasury), new PublicKey(mint));

/** The treasury's accounts: the one that tickets are paid to, and that of the reward token, which is paid back where it was sent by mistake. */
export function treasuryAccounts(parameters: LegacyParameters, rewardMint: string | null): Accounts {
  const accounts = new Map<string, Currency>();
  if (rewardMint !== null) accounts.set(ticketAccount({ ...parameters, mint: rewardMint }).toBase58(), 'reward');
  return accounts.set(ticketAccount(parameters).toBase58(), 'usdc');
}

interface Payment {
  readonly account: string;
  readonly currency: Currency;
  readonly authority: string;
  readonly amount: bigint;
}

function paymentsOf(instructions: readonly Instruction[], accounts: Accounts): Payment[] {
  return instructions.flatMap(({ program, accounts: named, data }): Payment[] => {
    const form = program === TOKENS ? TRANSFERS[data[0] ?? -1] : undefined;
    if (form === undefined || data.length < form.bytes) return [];
    const [account = '', authority] = [named[form.to], named[form.authority]];
    const currency = accounts.get(account);
    return currency && authority ? [{ account, currency, authority, amount: data.readBigUInt64LE(1) }] : [];
  });
}

const sumOf = (payments: readonly Payment[]) => payments.reduce((sum, { amount }) => sum + amount, 0n);

/** What a transaction has added to a token account, as the chain has counted. */
function added(found: VersionedTransactionResponse, account: string): bigint {
  const index = addressesOf(found).indexOf(account);
  const balance = (list: NonNullable<VersionedTransactionResponse['meta']>['preTokenBalances']) =>
    BigInt(list?.find(({ accountIndex }) => accountIndex === index)?.uiTokenAmount.amount ?? 0);
  return balance(found.meta?.postTokenBalances) - balance(found.meta?.preTokenBalances);
}

/**
 * What a wallet has paid, by currency. The first to pay, in the first currency, is paid back for the cause that is the signature; others who
 * paid in the same transaction for causes beside it. Nothing where the chain has counted less than the transfers say.
 */
function paidBy(wallet: string, signature: string, payments: readonly Payment[], arrived: (account: string) => bigint): PaidBack[] {
  const groups = Map.groupBy(payments, ({ authority, account }) => `${authority} ${account}`);
  return [...groups.values()].flatMap((own, n): PaidBack[] => {
    const [{ account, currency, authority } = { account: '', currency: 'usdc' as const, authority: '' }] = own;
    const amount = sumOf(own);
    const all = sumOf(payments.filter((payment) => payment.account === account));
    if (authority !== wallet || amount === 0n || arrived(account) < all) return [];
    return [{ currency, amount, cause: n === 0 ? signature : `${signature}:${n}` }];
  });
}

/**
 * Judges a finalized transaction that a wallet names as the payment for a ticket. Only what the transaction itself instructs counts as
 * paid, not what programs do on its behalf.
 */
export function judge(found: VersionedTransactionResponse, wallet: string, parameters: LegacyParameters, accounts: Accounts): Judgement {
  const [signature] = found.transaction.signatures;
  if (!found.meta || found.blockTime === null || found.blockTime === undefined || signature === undefined) return { verdict: 'unread' };
  const refuse = (reason: string, refunds: readonly PaidBack[] = []): Judgement => ({ verdict: 'refuse', reason, refunds });
  if (found.meta.err !== null) return refuse('the transaction has failed');
  if (!signersOf(found).includes(wallet)) return refuse('the transaction is not signed by this wallet');

  const instructions = instructionsOf(found);
  const payments = paymentsOf(instructions, accounts);
  const arrived = (account: string) => added(found, account);
  const refunds = paidBy(wallet, signature, payments, arrived);
  const payTo = ticketAccount(parameters).toBase58();
  const [payment, another] = payments;
  if (!payment) return refuse(`the transaction must transfer the price to ${payTo}`);
  if (another) return refuse('the transaction must hold exactly one transfer to the treasury', refunds);
  if (payment.account !== payTo) return refuse('the transaction pays in another token', refunds);
  if (payment.authority !== wallet) return refuse('the transaction’s transfer must be that of this wallet', refunds);
  if (String(payment.amount) !== parameters.ticketPrice) {
    return refuse(`the transaction pays ${payment.amount}, and a ticket costs ${parameters.ticketPrice}`, refunds);
  }
  if (arrived(payTo) !== payment.amount) return refuse('the transaction changes the treasury’s balance by another amount than the price', refunds);
  const memos = memosOf(instructions);
  if (memos.length !== 1 || memos[0] !== parameters.round) return refuse('the transaction must have one memo, the id of this round', refunds);
  const paidAt = found.blockTime * 1_000;
  if (paidAt >= millis(parameters.closesAt)) return refuse('the transaction came after the round had closed', refunds);
  return { verdict: 'pays', at: instantOf(paidAt), refunds };
}
