import { z } from 'zod';
import { fail, HttpError } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { staleWhileRevalidate, withTimeout } from '#platform/redis/stale-while-revalidate.ts';
import { parseAddress } from './primitives.ts';
import { decodeTokenAccount } from './tokens.ts';

/** A wallet's balance of the reward token, and whether it reaches the minimum. Amounts are base units. */
interface TokenHolding {
  readonly balance: bigint;
  readonly minimum: bigint;
  readonly eligible: boolean;
  readonly mint: string;
  /** Time at which the balance was requested. */
  readonly at: Date;
}

/** Whether a wallet held enough of the reward token at a time, ms since 1970. */
export interface HoldingReading {
  readonly holding: boolean;
  readonly at: number;
}

/** Maximum age of a balance that decides about points, ms. */
export const HOLDING_MAX_AGE_MS = 60_000;

/** Timeout of `peekHolding`, ms. */
const PEEK_MS = 300;

/**
 * Adds up the balances of all token accounts that a wallet has for the mint. The RPC node must have an index of token accounts by owner (for
 * `getTokenAccountsByOwner`), as all public nodes have. Frozen accounts count too, because a wallet must hold the tokens but does not need to be able
 * to spend them.
 */
const readBalance = staleWhileRevalidate<{ wallet: string; mint: string }, string>({
  name: 'balance',
  keyOf: ({ wallet, mint }) => `${mint}:${wallet}`,
  shape: z.string().regex(/^\d{1,20}$/),
  freshMs: 30_000,
  staleMs: 600_000,
  waitIfStaleMs: 500,
  waitIfMissingMs: 5_000,
  failureBackoffMs: 1_000,
  maxKeys: 10_000,
  maxConcurrent: 100,
  unavailableMessage: 'the balance of the wallet cannot be read at the moment, try again',
  async read(app, { wallet, mint }) {
    const owner = parseAddress(wallet);
    const accounts = (await app.chain.node.tokenAccountsOf(owner, parseAddress(mint))).map(decodeTokenAccount);
    const own = accounts.filter((account) => account?.owner.equals(owner) && account.mint.toBase58() === mint);
    return own.reduce((sum, account) => sum + (account?.amount ?? 0n), 0n).toString();
  },
});

/**
 * Returns the token balance of a wallet and whether the balance reaches the minimum. The balance is cached for 30 s, or for 10 minutes while the RPC
 * node does not answer.
 * @throws 503 when no cached balance is left, or when no reward mint is configured
 */
export async function readHolding(app: App, wallet: string): Promise<TokenHolding> {
  const mint = app.chain.rewardMint.toBase58();
  const minimum = app.config.chain.tokenGate.minBalance;
  const { value, at } = await readBalance(app, { wallet, mint });
  const balance = BigInt(value);
  return { balance, minimum, eligible: balance >= minimum, mint, at: new Date(at) };
}

/**
 * Returns within 0.3 s whether a wallet is eligible to play, and its token balance. A value that is not known by then is null. Every wallet is
 * eligible when neither a reward mint nor the gate is configured. Never throws.
 */
export async function peekHolding(app: App, wallet: string): Promise<{ eligible: boolean | null; tokenBalance: string | null }> {
  const { rewardMint, tokenGate } = app.config.chain;
  if (rewardMint === null && !tokenGate.play) return { eligible: true, tokenBalance: null };
  const known = readHolding(app, wallet).catch(() => null);
  const holding = await withTimeout(PEEK_MS, known, null);
  return { eligible: holding?.eligible ?? null, tokenBalance: holding?.balance.toString() ?? null };
}

/**
 * Reads from the chain whether a wallet holds enough of the reward token. Never throws.
 * @returns null when the RPC node does not answer within 5 s and no balance of the last 60 s is known, or when no reward mint is configured
 */
export async function readRecentHolding(app: App, wallet: string): Promise<HoldingReading | null> {
  if (app.config.chain.rewardMint === null) return null;
  const reading = await readHolding(app, wallet).catch(() => null);
  return reading && isRecent(app, reading.at.getTime()) ? { holding: reading.eligible, at: reading.at.getTime() } : null;
}

/**
 * Returns a wallet's balance of a token, base units, at most 60 s old. Never throws.
 * @returns null when the RPC node does not answer within 5 s and no recent balance is known
 */
export async function readRecentBalance(app: App, wallet: string, mint: string): Promise<bigint | null> {
  const reading = await readBalance(app, { wallet, mint }).catch(() => null);
  return reading && isRecent(app, reading.at) ? BigInt(reading.value) : null;
}

const isRecent = (app: App, at: number): boolean => Math.abs(app.clock.now().getTime() - at) <= HOLDING_MAX_AGE_MS;

/**
 * Returns from the cache which wallets hold enough of the reward token. Wallets without a balance of the last 60 s are left out. Never throws, and
 * sends no request to the RPC node.
 */
export async function cachedHoldings(app: App, wallets: readonly string[]): Promise<Map<string, HoldingReading>> {
  const mint = app.config.chain.rewardMint;
  if (mint === null) return new Map();
  const readings = await readBalance.cached(
    app,
    wallets.map((wallet) => ({ wallet, mint })),
  );
  const minimum = app.config.chain.tokenGate.minBalance;
  return new Map(
    wallets.flatMap((wallet, i) => {
      const reading = readings[i];
      return reading && isRecent(app, reading.at) ? [[wallet, { holding: BigInt(reading.value) >= minimum, at: reading.at }] as const] : [];
    }),
  );
}

/**
 * Returns an error when a wallet may not start a play: 403 when its token balance is too low, 503 when the balance is not known. Returns null when
 * the wallet may start a play. When `GATE` is empty, every wallet may start a play.
 */
export async function playGateError(app: App, wallet: string): Promise<HttpError | null> {
  if (!app.config.chain.tokenGate.play) return null;
  try {
    const { eligible, minimum, mint } = await readHolding(app, wallet);
    return eligible ? null : fail(403, `the wallet must hold at least ${minimum} base units of the token ${mint} to start a play`);
  } catch (error) {
    if (error instanceof HttpError) return error;
    throw error;
  }
}
