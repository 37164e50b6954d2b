import { decodeBase58 } from '#lib/scalars.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { TokenBalance } from '#platform/solana/fetched-transaction.ts';
import type { Currency } from './payments.ts';

/** The result of checking on the chain whether a transaction paid a wallet: paid, not finalized yet, or not paid. */
export type TransferCheck =
  | {
      readonly verdict: 'paid';
      /** Base units. */
      readonly amount: bigint;
      /** Block time of the transaction, seconds since 1970; null when the RPC node does not know it. */
      readonly at: number | null;
    }
  /** The transaction is not finalized yet, or the RPC node does not know it. */
  | { readonly verdict: 'not final'; readonly reason: string }
  | { readonly verdict: 'no'; readonly reason: string };

/** Returns whether a text has the form of a transaction signature: 64 bytes as base58. */
export const isSignature = (text: string): boolean => text.length <= 88 && decodeBase58(text)?.length === 64;

const notPaid = (reason: string): TransferCheck => ({ verdict: 'no', reason });
const notFinal = (reason: string): TransferCheck => ({ verdict: 'not final', reason });

/**
 * Checks whether a finalized transaction paid a wallet. The paid amount is the increase of the wallet's token balance in the currency, base units.
 */
export async function checkTransfer(app: App, signature: string, wallet: string, currency: Currency): Promise<TransferCheck> {
  const mint = (currency === 'usdc' ? app.chain.usdcMint : app.chain.rewardMint).toBase58();
  const { node } = app.chain;
  const status = (await node.statuses([signature], { searchHistory: true })).statuses[0];
  if (!status) return notFinal('the chain does not know the transaction');
  if (status.confirmationStatus !== 'finalized') return notFinal('the transaction is not finalized yet');
  if (status.err) return notPaid('the transaction has failed');
  const found = await node.transaction(signature, 'finalized');
  if (!found?.outcome) return notFinal('the RPC node does not have the transaction');
  const total = (balances: readonly TokenBalance[]) =>
    balances.filter((balance) => balance.mint === mint && balance.owner === wallet).reduce((sum, balance) => sum + balance.amount, 0n);
  const amount = total(found.outcome.tokensAfter) - total(found.outcome.tokensBefore);
  return amount > 0n ? { verdict: 'paid', amount, at: found.blockTime } : notPaid('the transaction does not pay the wallet');
}

const lockSignature = statement('lock_payment_signature', `select pg_advisory_xact_lock(hashtext('coinop-payment-signature'), hashtext($1))`);
const alreadyPaid = statement<{ amount: string; since: number }>(
  'read_payments_by_signature',
  `select coalesce((select sum(o.amount) from payments o where o.signature = $2 and o.wallet = p.wallet and o.currency = p.currency and o.id <> p.id), 0)::text as amount,
     extract(epoch from p.created_at)::float8 as since
   from payments p where p.id = $1`,
);

/** Maximum difference between the clocks of the chain and the database, seconds. */
const MAX_CLOCK_SKEW_S = 300;

/**
 * Checks that a transaction paid this payment. The transaction must not be older than the payment. The paid amount must cover this payment and all
 * other payments of the wallet for which the same signature is stored.
 * @param paid result of `checkTransfer` for the transaction
 * @returns the reason why the transaction did not pay this payment; null when it did
 */
export async function transferMismatch(
  tx: Tx,
  payment: { readonly id: string; readonly amount: bigint },
  signature: string,
  paid: TransferCheck & { verdict: 'paid' },
): Promise<string | null> {
  await tx.query(lockSignature, [signature]);
  const row = (await tx.query(alreadyPaid, [payment.id, signature]))[0];
  if (!row) return 'the payment does not exist';
  if (paid.at !== null && paid.at < row.since - MAX_CLOCK_SKEW_S) return 'the transaction is older than the payment';
  if (paid.amount < payment.amount + BigInt(row.amount)) {
    return row.amount === '0'
      ? 'the transaction paid the wallet less than the amount of the payment'
      : 'the transaction paid other payments of the wallet already';
  }
  return null;
}
