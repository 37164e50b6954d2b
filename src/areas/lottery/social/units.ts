import { z } from 'zod';
import { unavailable } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { staleWhileRevalidate } from '#platform/redis/stale-while-revalidate.ts';
import { type Address, parseAddress } from '#platform/solana/primitives.ts';
import { decodeMint } from '#platform/solana/tokens.ts';
import type { PrizeTerms } from '../terms.ts';

type Mint = PrizeTerms['mint'];

/** Display names of the tokens. */
const NAMES: Readonly<Record<Mint, string>> = { reward: 'tokens', usdc: 'USDC' };

const DAY_MS = 86_400_000;

/** Reads the decimals of a mint from the chain. The decimals of a mint never change. */
const decimalsOf = staleWhileRevalidate<string, number>({
  name: 'mint-decimals',
  keyOf: (mint) => mint,
  shape: z.int().min(0).max(255),
  freshMs: DAY_MS,
  staleMs: 30 * DAY_MS,
  waitIfStaleMs: 250,
  waitIfMissingMs: 5_000,
  failureBackoffMs: 1_000,
  maxKeys: 4,
  maxConcurrent: 4,
  unavailableMessage: 'the decimals of a prize cannot be read from the chain; try again',
  async read(app, mint) {
    const decoded = decodeMint((await app.chain.node.account(parseAddress(mint), 'confirmed')).account);
    if (!decoded) throw unavailable(`${mint} is not an SPL mint`, 60);
    return decoded.decimals;
  },
});

/** Decimals by token. */
export type Decimals = Readonly<Record<Mint, number>>;

/**
 * Reads the decimals of both tokens.
 * @throws 503 when the decimals are not cached and the RPC node does not answer
 */
export async function readDecimals(app: App): Promise<Decimals> {
  const of = async (mint: Address) => (await decimalsOf(app, mint.toBase58())).value;
  const [reward, usdc] = await Promise.all([of(app.chain.rewardMint), of(app.chain.usdcMint)]);
  return { reward, usdc };
}

/** Formats an amount of base units as an exact amount of tokens (for example `1,250.5 USDC`). */
export function readable(amount: bigint, mint: Mint, decimals: Decimals): string {
  const digits = amount.toString().padStart(decimals[mint] + 1, '0');
  const point = digits.length - decimals[mint];
  const whole = digits.slice(0, point).replace(/\B(?=(?:\d{3})+$)/g, ',');
  const fraction = digits.slice(point).replace(/0+$/, '');
  return `${whole}${fraction === '' ? '' : `.${fraction}`} ${NAMES[mint]}`;
}

/** Formats the sum of prizes by token (for example `25 USDC + 1,000 tokens`). Returns null when the sum is 0. */
export function readableSum(prizes: readonly PrizeTerms[], decimals: Decimals): string | null {
  const sums = (['usdc', 'reward'] as const).map((mint) => {
    const sum = prizes.reduce((total, prize) => (prize.mint === mint ? total + BigInt(prize.amount) : total), 0n);
    return sum === 0n ? [] : [readable(sum, mint, decimals)];
  });
  return sums.flat().join(' + ') || null;
}
