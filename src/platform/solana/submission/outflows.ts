import type { App } from '#platform/app.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { Spend, TransactionType } from './transaction-type.ts';

/**
 * Asset name for the lamports that the service spends on opening token accounts of wallets. This asset has its own daily limit, and its amounts also
 * count against the limit of `sol`.
 */
export const TOKEN_ACCOUNTS = 'token-accounts';

/** Returns the daily limit of an asset in base units; null for an asset that the service must not spend. */
function dailyLimitOf({ config }: App, asset: string): bigint | null {
  const { dailyLimits, tokenAccounts, rewardMint, usdcMint } = config.chain;
  if (asset === 'sol') return dailyLimits.sol;
  if (asset === TOKEN_ACCOUNTS) return tokenAccounts.dailyBudget;
  if (asset === rewardMint) return dailyLimits.reward;
  return asset === usdcMint ? dailyLimits.usdc : null;
}

// Reserves an amount of one asset. The caller runs this statement for one asset after the other, in the order of asset names: each run locks a row
// until the commit, and a fixed order avoids deadlocks.
const reserveOne = statement<{ day: number }>(
  'reserve_outflow',
  `insert into chain_outflows as o (day, asset, reserved) select $3::int, $1, $2::numeric where $2::numeric <= $4::numeric
   on conflict (day, asset) do update set reserved = o.reserved + excluded.reserved where o.reserved + excluded.reserved <= $4::numeric
   returning day`,
);
const selectToday = statement<{ day: number }>('outflow_day', 'select app_day() as day');
const releaseOne = statement(
  'release_outflow',
  `update chain_outflows set reserved = greatest(0, reserved - $3::numeric) where day = $1 and asset = $2`,
);
const selectReserved = statement<{ reserved: string }>(
  'read_outflow',
  'select reserved::text from chain_outflows where day = app_day() and asset = $1',
);

/** Adds up the spends per asset. Returns one spend per asset, sorted by asset name. */
export function sumByAsset(spends: readonly Spend[]): Spend[] {
  const amounts = new Map<string, bigint>();
  for (const { asset, amount } of spends) amounts.set(asset, (amounts.get(asset) ?? 0n) + amount);
  return [...amounts]
    .filter(([, amount]) => amount > 0n)
    .map(([asset, amount]) => ({ asset, amount }))
    .sort((a, b) => (a.asset < b.asset ? -1 : 1));
}

/** Thrown when a spend would exceed the daily limit of its asset. It rolls the database transaction back. */
export class DailyLimitReached extends Error {
  readonly asset: string;
  constructor(asset: string) {
    super(`the daily limit of ${asset} is reached`);
    this.name = 'DailyLimitReached';
    this.asset = asset;
  }
}

/**
 * Reserves the spends of an attempt against the daily limits.
 * @returns the UTC day to which the spends are charged
 * @throws DailyLimitReached when a limit would be exceeded
 */
export async function reserveOutflows(app: App, tx: Tx, spends: readonly Spend[]): Promise<number> {
  const day = (await tx.query(selectToday))[0]?.day;
  if (day === undefined) throw new Error('the database returned no day');
  for (const { asset, amount } of sumByAsset(spends)) {
    const rows = await tx.query(reserveOne, [asset, String(amount), day, String(dailyLimitOf(app, asset) ?? -1n)]);
    if (rows.length === 0) throw new DailyLimitReached(asset);
  }
  return day;
}

/** Releases the reserved spends of an attempt. Precondition: the attempt expired, or failed on the chain. */
export async function releaseOutflows(tx: Tx, day: number, spends: readonly Spend[]): Promise<void> {
  for (const { asset, amount } of sumByAsset(spends)) await tx.query(releaseOne, [day, asset, String(amount)]);
}

/** Returns the remaining limit of an asset for the current UTC day, base units. */
export async function outflowLeft(app: App, asset: string): Promise<bigint> {
  const reserved = BigInt((await app.db.query(selectReserved, [asset]))[0]?.reserved ?? '0');
  const limit = dailyLimitOf(app, asset) ?? 0n;
  return limit > reserved ? limit - reserved : 0n;
}

/** An amount that a pending attempt spends if it lands, base units. */
export interface PendingSpend {
  readonly signature: string;
  readonly amount: bigint;
}
const selectPendingSpends = statement<{ signature: string; amount: string }>(
  'list_pending_spends',
  `select a.signature, s->>'amount' as amount from chain_attempts a join chain_transactions t on t.id = a.transaction_id, jsonb_array_elements(a.spends) s
   where a.state in ('signed', 'sent', 'confirmed') and s->>'asset' = $1 and t.kind <> $2`,
);

/**
 * Returns the amounts of an asset that pending attempts spend if they land.
 * @param asset a mint address, or `sol`
 * @param except the type of the transactions whose attempts are left out
 */
export async function pendingSpends(db: Queryable, asset: string, except: Pick<TransactionType, 'name'>): Promise<PendingSpend[]> {
  return (await db.query(selectPendingSpends, [asset, except.name])).map(({ signature, amount }) => ({ signature, amount: BigInt(amount) }));
}
