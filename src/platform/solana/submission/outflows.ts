import type { App } from '#platform/app.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { PRIORITIES, type Priority } from './priorities.ts';
import type { Spend, TransactionType } from './transaction-type.ts';

/** Asset name for lamports. */
export const SOL = 'sol';
/**
 * Asset name for the lamports that the service spends on opening token accounts of wallets. This asset has its own daily limit, and its amounts also
 * count against the limit of `sol`.
 */
export const TOKEN_ACCOUNTS = 'token-accounts';

/** The classes that spend an asset and have a reserve in its daily limit. The other assets have no reserves, because wallets cannot use them up. */
const RESERVED_FOR: Readonly<Record<string, readonly Priority[]>> = { [SOL]: PRIORITIES, [TOKEN_ACCOUNTS]: ['payouts', 'claims'] };

/** Returns the daily limit of an asset in base units; null for an asset that the service must not spend. */
function dailyLimitOf({ config }: App, asset: string): bigint | null {
  const { dailyLimits, tokenAccounts, rewardMint, usdcMint } = config.chain;
  if (asset === SOL) return dailyLimits.sol;
  if (asset === TOKEN_ACCOUNTS) return tokenAccounts.dailyBudget;
  if (asset === rewardMint) return dailyLimits.reward;
  return asset === usdcMint ? dailyLimits.usdc : null;
}

/** Returns the reserve of each class in the daily limit of an asset, base units. Only the class itself can spend its reserve. */
function reservesOf(app: App, asset: string): Map<Priority, bigint> {
  const limit = dailyLimitOf(app, asset) ?? 0n;
  const { reserves } = app.config.chain;
  return new Map((RESERVED_FOR[asset] ?? []).map((priority) => [priority, (limit * BigInt(reserves[priority])) / 100n]));
}

// The lock serializes the reservations of an asset, so that each one sees the amounts of all committed ones. Locking all assets of an attempt in the
// order of their names avoids deadlocks.
const lockAssets = statement<{ day: number; locks: number }>(
  'lock_outflows',
  `with locks as materialized (
     select pg_advisory_xact_lock(hashtextextended('outflow:' || asset, 0)) from unnest($1::text[]) with ordinality as a(asset, n) order by n)
   select app_day() as day, (select count(*)::int from locks) as locks`,
);
const selectSpent = statement<{ asset: string; priority: Priority; reserved: string }>(
  'read_outflows',
  'select asset, priority, reserved::text from chain_outflows where day = coalesce($2::int, app_day()) and asset = any($1::text[])',
);
const reserveOne = statement(
  'reserve_outflow',
  `insert into chain_outflows as o (day, asset, priority, reserved) values ($1, $2, $3, $4::numeric)
   on conflict (day, asset, priority) do update set reserved = o.reserved + excluded.reserved`,
);
const releaseOne = statement(
  'release_outflow',
  `update chain_outflows set reserved = greatest(0, reserved - $4::numeric) where day = $1 and asset = $2 and priority = $3`,
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

/** Thrown when a spend would exceed the part of an asset's daily limit that a class may spend. It rolls the database transaction back. */
export class DailyLimitReached extends Error {
  readonly asset: string;
  constructor(asset: string) {
    super(`the daily limit of ${asset} is reached`);
    this.name = 'DailyLimitReached';
    this.asset = asset;
  }
}

/** Reads the amount of an asset that a class may still spend on a UTC day. */
async function readLeft(app: App, db: Queryable, asset: string, priority: Priority, day: number | null): Promise<bigint> {
  const rows = await db.query(selectSpent, [[asset], day]);
  return leftOf(app, asset, new Map(rows.map((row) => [row.priority, BigInt(row.reserved)])), priority);
}

/**
 * Returns the amount of an asset that a class may still spend: the rest of the limit, less the unspent reserves of the other classes.
 * @param spent the amount that each class has spent or reserved today
 */
export function leftOf(app: App, asset: string, spent: ReadonlyMap<Priority, bigint>, priority: Priority): bigint {
  let left = dailyLimitOf(app, asset) ?? 0n;
  for (const amount of spent.values()) left -= amount;
  for (const [other, reserve] of reservesOf(app, asset)) {
    const unspent = reserve - (spent.get(other) ?? 0n);
    if (other !== priority && unspent > 0n) left -= unspent;
  }
  return left > 0n ? left : 0n;
}

/**
 * Reserves the spends of an attempt against the daily limits.
 * @param priority the class of the transaction
 * @returns the UTC day to which the spends are charged
 * @throws DailyLimitReached when a limit would be exceeded, or when the amount is reserved for other classes
 */
export async function reserveOutflows(app: App, tx: Tx, priority: Priority, spends: readonly Spend[]): Promise<number> {
  const sums = sumByAsset(spends);
  const day = (await tx.query(lockAssets, [sums.map(({ asset }) => asset)]))[0]?.day;
  if (day === undefined) throw new Error('the database returned no day');
  for (const { asset, amount } of sums) {
    if ((await readLeft(app, tx, asset, priority, day)) < amount) throw new DailyLimitReached(asset);
    await tx.query(reserveOne, [day, asset, priority, String(amount)]);
  }
  return day;
}

/** Releases reserved spends. Precondition: the attempt expired, or failed on the chain. */
export async function releaseOutflows(tx: Tx, day: number, priority: Priority, spends: readonly Spend[]): Promise<void> {
  for (const { asset, amount } of sumByAsset(spends)) await tx.query(releaseOne, [day, asset, priority, String(amount)]);
}

/**
 * Changes the reserved amounts of a day without a check of the limits: a positive amount is added, a negative one is released. Precondition: the amounts
 * move between attempts of one transaction, or correct the amount of an attempt that landed.
 */
export async function moveOutflows(tx: Tx, day: number, priority: Priority, changes: readonly Spend[]): Promise<void> {
  for (const { asset, amount } of changes) {
    if (amount > 0n) await tx.query(reserveOne, [day, asset, priority, String(amount)]);
    if (amount < 0n) await tx.query(releaseOne, [day, asset, priority, String(-amount)]);
  }
}

/** Returns the amount of an asset that a class may still spend on the current UTC day, base units. */
export async function outflowLeft(app: App, asset: string, priority: Priority): Promise<bigint> {
  return await readLeft(app, app.db, asset, priority, null);
}

/** An amount that a pending attempt has reserved, base units. `subject` belongs to its transaction, whose type is `type`. */
export interface PendingSpend {
  readonly signature: string;
  readonly type: string;
  readonly subject: string;
  readonly amount: bigint;
}
const selectPendingSpends = statement<{ signature: string; type: string; subject: string; amount: string }>(
  'list_pending_spends',
  // The condition with `@>` leaves out the many claims in flight, which spend no tokens, before their transactions are read.
  `select a.signature, t.kind as type, t.subject, s->>'amount' as amount from chain_attempts a join chain_transactions t on t.id = a.transaction_id, jsonb_array_elements(a.spends) s
   where a.state in ('signed', 'sent', 'confirmed') and a.spends @> jsonb_build_array(jsonb_build_object('asset', $1::text)) and s->>'asset' = $1 and t.kind <> $2`,
);

/**
 * Returns the amounts of an asset that pending transactions spend if they land. Of several pending attempts of a transaction, one has the amount.
 * @param asset a mint address, or `sol`
 * @param except the type of the transactions whose attempts are left out
 */
export async function pendingSpends(db: Queryable, asset: string, except: Pick<TransactionType, 'name'>): Promise<PendingSpend[]> {
  return (await db.query(selectPendingSpends, [asset, except.name])).map((row) => ({ ...row, amount: BigInt(row.amount) }));
}
