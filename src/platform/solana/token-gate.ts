import { PublicKey } from '@solana/web3.js';
import { z } from 'zod';
import { fail, HttpError } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { atMost, lastGood } from '#platform/redis/stale-while-revalidate.ts';
import { rpc } from './solana.ts';
import { decodeTokenAccount } from './tokens.ts';

/** What a wallet holds of the reward token, and whether that is enough. Amounts are base units. */
export interface Holding {
  readonly balance: bigint;
  readonly minimum: bigint;
  readonly eligible: boolean;
  readonly mint: string;
  /** When the chain was asked. */
  readonly at: Date;
}

/** How long `/me` waits for a balance, ms. */
const GLANCE_MS = 300;

/**
 * A wallet's balance over all its token accounts of the mint: anybody may open a second one. Asked by owner, so nodes need their index
 * of token owners (`getTokenAccountsByOwner`), as all public ones have. Frozen accounts count: the gate is about holding, not moving.
 */
const readBalance = lastGood<{ wallet: string; mint: string }, string>({
  name: 'balance',
  keyOf: ({ wallet, mint }) => `${mint}:${wallet}`,
  shape: z.string().regex(/^\d{1,20}$/),
  freshMs: 30_000,
  keptMs: 600_000,
  patienceMs: 500,
  withinMs: 5_000,
  restMs: 1_000,
  most: 10_000,
  atOnce: 100,
  unknown: 'the balance of the wallet is not known at the moment, try again',
  async read(app, { wallet, mint }) {
    const owner = new PublicKey(wallet);
    const { value } = await rpc(() => app.chain.connection.getTokenAccountsByOwner(owner, { mint: new PublicKey(mint) }));
    const accounts = value.map(({ account }) => decodeTokenAccount(account));
    const own = accounts.filter((account) => account?.owner.equals(owner) && account.mint.toBase58() === mint);
    return own.reduce((sum, account) => sum + (account?.amount ?? 0n), 0n).toString();
  },
});

/**
 * What a wallet holds, at most 30 s old; while the chain cannot be asked, at most 10 minutes.
 * @throws 503 when it is not known, or no mint is configured
 */
export async function holdingOf(app: App, wallet: string): Promise<Holding> {
  const mint = app.chain.rewardMint.toBase58();
  const minimum = app.config.chain.gate.minBalance;
  const { value, at } = await readBalance(app, { wallet, mint });
  const balance = BigInt(value);
  return { balance, minimum, eligible: balance >= minimum, mint, at: new Date(at) };
}

/**
 * What can be said of a wallet without waiting long: null for what is not known. Where there is neither a token nor a gate, everyone is
 * eligible. Never throws.
 */
export async function glanceAt(app: App, wallet: string): Promise<{ eligible: boolean | null; tokenBalance: string | null }> {
  const { rewardMint, gate } = app.config.chain;
  if (rewardMint === null && !gate.play) return { eligible: true, tokenBalance: null };
  const known = holdingOf(app, wallet).catch(() => null);
  const holding = await atMost(GLANCE_MS, known, null);
  return { eligible: holding?.eligible ?? null, tokenBalance: holding?.balance.toString() ?? null };
}

/** Which of some wallets hold enough, as far as that is known without asking the chain; the others are left out. Never throws. */
export async function knownHolders(app: App, wallets: readonly string[]): Promise<Map<string, boolean>> {
  const mint = app.config.chain.rewardMint;
  if (mint === null) return new Map();
  const readings = await readBalance.known(
    app,
    wallets.map((wallet) => ({ wallet, mint })),
  );
  const minimum = app.config.chain.gate.minBalance;
  return new Map(
    wallets.flatMap((wallet, i) => {
      const reading = readings[i];
      return reading ? [[wallet, BigInt(reading.value) >= minimum] as const] : [];
    }),
  );
}

/**
 * Why a wallet may not start a play: 403 when it holds too little, 503 when that cannot be known; null when it may. Nothing is asked
 * where `GATE` is not `play`.
 */
export async function refusalToPlay(app: App, wallet: string): Promise<HttpError | null> {
  if (!app.config.chain.gate.play) return null;
  try {
    const { eligible, minimum, mint } = await holdingOf(app, wallet);
    return eligible ? null : fail(403, `the wallet must hold at least ${minimum} base units of the token ${mint} to start a play`);
  } catch (error) {
    if (error instanceof HttpError) return error;
    throw error;
  }
}
