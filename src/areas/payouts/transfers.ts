import type { TokenBalance } from '@solana/web3.js';
import { decodeBase58 } from '#lib/scalars.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { rpc } from '#platform/solana/solana.ts';
import type { Currency } from './payments.ts';

/** What a transaction has paid a wallet, as the chain tells. */
export type Paid =
  | { readonly verdict: 'paid'; readonly amount: bigint /** Seconds since 1970, where the node knows. */; readonly at: number | null }
  /** It is not there, or may still vanish. */
  | { readonly verdict: 'not final'; readonly reason: string }
  | { readonly verdict: 'no'; readonly reason: string };

/** Whether a text could be the signature of a transaction: base58 of 64 bytes. */
export const isSignature = (text: string): boolean => text.length <= 88 && decodeBase58(text)?.length === 64;

const no = (reason: string): Paid => ({ verdict: 'no', reason });
const notFinal = (reason: string): Paid => ({ verdict: 'not final', reason });

/** What a finalized transaction added to a wallet's token accounts of a currency, base units. */
export async function paidBy(app: App, signature: string, wallet: string, currency: Currency): Promise<Paid> {
  const mint = (currency === 'usdc' ? app.chain.usdcMint : app.chain.rewardMint).toBase58();
  const { connection } = app.chain;
  const { value } = await rpc(() => connection.getSignatureStatuses([signature], { searchTransactionHistory: true }));
  const status = value[0];
  if (!status) return notFinal('the chain does not know the transaction');
  if (status.confirmationStatus !== 'finalized') return notFinal('the transaction is not final yet');
  if (status.err) return no('the transaction has failed');
  const found = await rpc(() => connection.getTransaction(signature, { commitment: 'finalized', maxSupportedTransactionVersion: 1 }));
  if (!found?.meta) return notFinal('the node does not have the transaction');
  const total = (balances: readonly TokenBalance[] | null | undefined) =>
    (balances ?? [])
      .filter((balance) => balance.mint === mint && balance.owner === wallet)
      .reduce((sum, { uiTokenAmount }) => sum + BigInt(uiTokenAmount.amount), 0n);
  const amount = total(found.meta.postTokenBalances) - total(found.meta.preTokenBalances);
  return amount > 0n ? { verdict: 'paid', amount, at: found.blockTime ?? null } : no('the transaction does not pay the wallet');
}

const lockSignature = statement('lock_payment_signature', `select pg_advisory_xact_lock(hashtext('coinop-payment-signature'), hashtext($1))`);
const alreadyPaid = statement<{ amount: string; since: number }>(
  'read_payments_by_signature',
  `select coalesce((select sum(o.amount) from payments o where o.signature = $2 and o.wallet = p.wallet and o.currency = p.currency and o.id <> p.id), 0)::text as amount,
     extract(epoch from p.created_at)::float8 as since
   from payments p where p.id = $1`,
);

/** Clocks differ, of the chain and of us, by no more than this, s. */
const CLOCKS_DIFFER_S = 300;

/**
 * Whether a transaction is what has paid this payment: it pays enough for it besides all other payments that it is said to
 * have made, and is not older than the debt.
 * @returns why not, or null
 */
export async function whyNotPaidBy(
  tx: Tx,
  payment: { readonly id: string; readonly amount: bigint },
  signature: string,
  paid: Paid & { verdict: 'paid' },
): Promise<string | null> {
  await tx.query(lockSignature, [signature]);
  const row = (await tx.query(alreadyPaid, [payment.id, signature]))[0];
  if (!row) return 'there is no such payment';
  if (paid.at !== null && paid.at < row.since - CLOCKS_DIFFER_S) return 'the transaction is older than what is owed';
  if (paid.amount < payment.amount + BigInt(row.amount)) {
    return row.amount === '0' ? 'the transaction pays the wallet less' : 'the transaction has paid other payments of the wallet';
  }
  return null;
}
