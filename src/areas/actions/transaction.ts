import { ttlCache } from '#lib/ttl-cache.ts';
import { type App, perApp } from '#platform/app.ts';
import { enforceRateLimit, type RateLimit } from '#platform/auth/rate-limit.ts';
import { type Instruction, parseAddress } from '#platform/solana/primitives.ts';
import { buildTransaction, encodeUnsigned } from '#platform/solana/transactions.ts';

/** Rate limits of transactions, per account and for all accounts together, because anybody may request them and each costs requests to the RPC node. */
export const ACCOUNT_LIMIT: RateLimit = { name: 'action-account', max: 20, windowMs: 60_000 };
export const TOTAL_LIMIT: RateLimit = { name: 'action', max: 500, windowMs: 10_000 };

/**
 * Counts a request of a transaction.
 * @throws 429 when the account, or all accounts together, request too many
 */
export async function countRequest(app: App, account: string): Promise<void> {
  await enforceRateLimit(app, ACCOUNT_LIMIT, account);
  await enforceRateLimit(app, TOTAL_LIMIT, 'all');
}

/** Maximum age of a blockhash that several transactions share, ms. A transaction can land for about a minute after its blockhash. */
const BLOCKHASH_AGE_MS = 2_000;
const blockhashes = perApp((app) =>
  ttlCache<'latest', string>(BLOCKHASH_AGE_MS, async () => (await app.chain.node.latestBlockhash('confirmed')).blockhash),
);

/** Builds a transaction whose fee an account pays and which only this account signs. Returns it as base64. */
export async function encodeFor(app: App, account: string, instructions: readonly Instruction[]): Promise<string> {
  const blockhash = await app.state(blockhashes).get('latest');
  return encodeUnsigned(buildTransaction(parseAddress(account), instructions, blockhash));
}
