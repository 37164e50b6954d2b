import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { Spend } from './transaction-type.ts';

/** Lamports spent on opening wallets' token accounts: an asset of its own, besides counting as `sol`. */
export const TOKEN_ACCOUNTS = 'token-accounts';

/** The most of an asset that may leave in a day; null where nothing of it may. */
function limitOf({ config }: App, asset: string): bigint | null {
  const { dailyLimits, tokenAccounts, rewardMint, usdcMint } = config.chain;
  if (asset === 'sol') return dailyLimits.sol;
  if (asset === TOKEN_ACCOUNTS) return tokenAccounts.dailyBudget;
  if (asset === rewardMint) return dailyLimits.reward;
  return asset === usdcMint ? dailyLimits.usdc : null;
}

// One statement per asset, in the order of their names: the row's lock is held until the commit.
const reserveOne = statement<{ day: number }>(
  'reserve_outflow',
  `insert into chain_outflows as o (day, asset, reserved) select $3::int, $1, $2::numeric where $2::numeric <= $4::numeric
   on conflict (day, asset) do update set reserved = o.reserved + excluded.reserved where o.reserved + excluded.reserved <= $4::numeric
   returning day`,
);
const today = statement<{ day: number }>('outflow_day', 'select app_day() as day');
const releaseOne = statement(
  'release_outflow',
  `update chain_outflows set reserved = greatest(0, reserved - $3::numeric) where day = $1 and asset = $2`,
);
const left = statement<{ reserved: string }>('read_outflow', 'select reserved::text from chain_outflows where day = app_day() and asset = $1');

/** One spend per asset, by name. */
export function summed(spends: readonly Spend[]): Spend[] {
  const amounts = new Map<string, bigint>();
  for (const { asset, amount } of spends) amounts.set(asset, (amounts.get(asset) ?? 0n) + amount);
  return [...amounts]
    .filter(([, amount]) => amount > 0n)
    .map(([asset, amount]) => ({ asset, amount }))
    .sort((a, b) => (a.asset < b.asset ? -1 : 1));
}

/** The day's limit is reached: the transaction that tried is rolled back. */
export class OverLimit extends Error {
  readonly asset: string;
  constructor(asset: string) {
    super(`the daily limit of ${asset} is reached`);
    this.name = 'OverLimit';
    this.asset = asset;
  }
}

/**
 * Reserves what an attempt may take out today.
 * @returns the UTC day that it counts for
 * @throws OverLimit
 */
export async function reserve(app: App, tx: Tx, spends: readonly Spend[]): Promise<number> {
  const day = (await tx.query(today))[0]?.day;
  if (day === undefined) throw new Error('the database told no day');
  for (const { asset, amount } of summed(spends)) {
    const rows = await tx.query(reserveOne, [asset, String(amount), day, String(limitOf(app, asset) ?? -1n)]);
    if (rows.length === 0) throw new OverLimit(asset);
  }
  return day;
}

/** Gives back what an attempt had reserved: only when it can never land, or landed without effect. */
export async function release(tx: Tx, day: number, spends: readonly Spend[]): Promise<void> {
  for (const { asset, amount } of summed(spends)) await tx.query(releaseOne, [day, asset, String(amount)]);
}

/** How much of an asset may still leave today. */
export async function outflowLeft(app: App, asset: string): Promise<bigint> {
  const reserved = BigInt((await app.db.query(left, [asset]))[0]?.reserved ?? '0');
  const limit = limitOf(app, asset) ?? 0n;
  return limit > reserved ? limit - reserved : 0n;
}
