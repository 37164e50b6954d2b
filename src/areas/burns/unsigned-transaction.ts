import { fail, unavailable } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { enforceRateLimit, type RateLimit } from '#platform/auth/rate-limit.ts';
import { parseAddress } from '#platform/solana/primitives.ts';
import { associatedTokenAddress, burnChecked, decodeMint, decodeTokenAccount, memo } from '#platform/solana/tokens.ts';
import { buildTransaction, encodeUnsigned } from '#platform/solana/transactions.ts';
import { burnMemo, readEvent } from './rows.ts';
import type { BurnTransaction, BurnTransactionRequest } from './schemas.ts';

/** Rate limit per wallet, because each transaction costs two requests to the RPC node. */
export const BUILD_LIMIT: RateLimit = { name: 'burn-transactions', max: 30, windowMs: 60_000 };

/**
 * Builds the transaction with which a wallet burns tokens of its associated token account for an active event. The wallet pays the fee. The wallet
 * signs and sends the transaction itself.
 * @throws 404 when the event does not exist; 409 when the event is not active, or when the token account does not hold the amount or is frozen; 429
 * when the wallet builds too many transactions; 503 when the RPC node does not answer
 */
export async function buildBurnTransaction(app: App, id: string, wallet: string, request: BurnTransactionRequest): Promise<BurnTransaction> {
  const event = await readEvent(app.db, id);
  if (event.status !== 'active') throw fail(409, `the burn event is ${event.status}; only burns of an active event count`);
  await enforceRateLimit(app, BUILD_LIMIT, wallet);
  const [owner, mint, amount] = [parseAddress(wallet), parseAddress(event.mint), BigInt(request.amount)];
  const from = associatedTokenAddress(owner, mint);
  const { node } = app.chain;
  const [{ accounts }, { blockhash, lastValidBlockHeight }] = await Promise.all([
    node.accounts([mint, from], 'confirmed'),
    node.latestBlockhash('confirmed'),
  ]);
  const decimals = decodeMint(accounts[0] ?? null)?.decimals;
  if (decimals === undefined) throw unavailable('the mint of the burn event cannot be read from the chain');
  const held = decodeTokenAccount(accounts[1] ?? null);
  const balance = held?.owner.equals(owner) ? held.amount : 0n;
  if (balance < amount) throw fail(409, `the wallet’s token account ${from.toBase58()} holds ${balance} base units, which is less than amount`);
  if (held?.frozen) throw fail(409, `the wallet’s token account ${from.toBase58()} is frozen`);
  const text = burnMemo(event.id, request.source);
  const transaction = buildTransaction(owner, [burnChecked({ from, owner, mint, decimals, amount }), memo(text)], blockhash);
  return {
    transaction: encodeUnsigned(transaction),
    memo: text,
    mint: event.mint,
    tokenAccount: from.toBase58(),
    amount: request.amount,
    blockhash,
    lastValidBlockHeight,
  };
}
