import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { moveOutflows, SOL, sumByAsset } from './outflows.ts';
import type { Priority } from './priorities.ts';
import { isPending, type PendingAttempt, readSpends, type StoredSpend, storedSpends } from './rows.ts';
import type { Spend, TransactionType } from './transaction-type.ts';

/**
 * Reservations of a transaction with several live attempts. At most one of them lands with an effect, so its costs are reserved once: the first attempt
 * reserves all its costs, a further one only its fee and what exceeds the costs of the others. When an attempt ends, its reservation moves so that:
 *   Each ended attempt has reserved exactly what it spent: all its costs if it landed, its fee if it landed and failed, nothing if it expired.
 *   The live attempts have together reserved at least the costs of each of them, as long as none has landed.
 */

/** Returns whether a transaction of a type may have several live attempts. */
export const hasSeveralLive = ({ maxLive = 1 }: Pick<TransactionType, 'maxLive'>): boolean => maxLive > 1;

/** The amounts of an attempt. `fee` is null for an attempt of a release that did not store it. */
interface Reserved {
  readonly fee: string | null;
  readonly spends: readonly StoredSpend[];
  readonly costs: readonly StoredSpend[] | null;
}

/** A live attempt of a transaction. */
export interface LiveAttempt extends Reserved {
  id: string;
  n: number;
  /** Priority price, millionths of a lamport per compute unit; null for an attempt of a release that did not store it. */
  price: number | null;
  /** Slot that the chain had reached when the attempt was signed. */
  signed_slot: number;
  spend_day: number;
  priority: Priority;
  /** Ids of further transactions whose effects the attempt has too. */
  carried: string[];
}

/** Selects the live attempts of transactions, newest first. */
export const selectLive = statement<LiveAttempt>(
  'select_live_attempts',
  `select transaction_id::text as id, n, fee::text, spends, costs, price::float8 as price, signed_slot::float8 as signed_slot, spend_day, priority, carried::text[] as carried
   from chain_attempts a where transaction_id = any($1::uuid[]) and ${isPending('a')} order by n desc`,
);
const storeSpends = statement('store_spends_of_attempt', 'update chain_attempts set spends = $3::jsonb where transaction_id = $1 and n = $2');

/** Amounts by asset. */
type Amounts = ReadonlyMap<string, bigint>;

const amountsOf = (spends: readonly Spend[]): Amounts => new Map(sumByAsset(spends).map(({ asset, amount }) => [asset, amount]));
const spendsOf = (amounts: Amounts): Spend[] => sumByAsset([...amounts].map(([asset, amount]) => ({ asset, amount })));
const add = (a: Amounts, b: Amounts): Amounts => amountsOf([...spendsOf(a), ...spendsOf(b)]);
const positive = (amount: bigint): bigint => (amount > 0n ? amount : 0n);
/** Returns `a` less `b`; 0 where `b` is greater. */
const subtract = (a: Amounts, b: Amounts): Amounts => new Map([...a].map(([asset, amount]) => [asset, positive(amount - (b.get(asset) ?? 0n))]));
/** Returns the lesser amount of each asset. */
const lesser = (a: Amounts, b: Amounts): Amounts => subtract(a, subtract(a, b));
const NOTHING: Amounts = new Map();

const feeOf = ({ fee }: Reserved): Amounts => new Map([[SOL, BigInt(fee ?? 0)]]);
/** The amounts that an attempt has reserved beyond its fee. */
const effectReserved = (attempt: Reserved): Amounts => subtract(amountsOf(readSpends(attempt.spends)), feeOf(attempt));
/** The amounts that an attempt spends beyond its fee if it lands. */
const effectCosts = (attempt: Reserved): Amounts => subtract(amountsOf(readSpends(attempt.costs ?? attempt.spends)), feeOf(attempt));

/** Returns the amounts that a further attempt must reserve: its fee, and the part of its other costs that the live attempts have not reserved. */
export function furtherSpends(live: readonly Reserved[], effect: readonly Spend[], fee: bigint): Spend[] {
  const reserved = live.map(effectReserved).reduce(add, NOTHING);
  return sumByAsset([...spendsOf(subtract(amountsOf(effect), reserved)), { asset: SOL, amount: fee }]);
}

/**
 * Moves the reservations of attempts that landed with an effect: the other live attempts keep their fees, and the landed attempt gets exactly its costs.
 * Precondition: the transactions are locked, and the states of the attempts are changed.
 */
export async function reserveForLanded(tx: Tx, landed: readonly PendingAttempt[]): Promise<void> {
  const live = await readLive(tx, landed);
  for (const attempt of landed) {
    for (const other of live.get(attempt.id) ?? []) await reserveExactly(tx, other, NOTHING);
    await reserveExactly(tx, attempt, effectCosts(attempt));
  }
}

/**
 * Moves the reservations of attempts that ended without effect to the live attempts of their transactions, as far as these need them. Precondition: as
 * for `reserveForLanded`.
 * @returns the attempts with the amounts that they have still reserved, which the caller releases
 */
export async function handOver(tx: Tx, ended: readonly PendingAttempt[]): Promise<PendingAttempt[]> {
  const live = await readLive(tx, ended);
  const left: PendingAttempt[] = [];
  for (const attempt of ended) {
    const others = live.get(attempt.id) ?? [];
    let free = effectReserved(attempt);
    for (const [i, other] of others.entries()) {
      const taken = lesser(free, subtract(effectCosts(other), effectReserved(other)));
      others[i] = await reserveExactly(tx, other, add(effectReserved(other), taken));
      free = subtract(free, taken);
    }
    left.push(others.length === 0 ? attempt : await reserveExactly(tx, attempt, free));
  }
  return left;
}

/** Reads the live attempts of the transactions of the given attempts, by the id of the transaction. */
async function readLive(tx: Tx, attempts: readonly PendingAttempt[]): Promise<Map<string, LiveAttempt[]>> {
  return Map.groupBy(attempts.length === 0 ? [] : await tx.query(selectLive, [attempts.map(({ id }) => id)]), ({ id }) => id);
}

/** Changes the reservation of an attempt to its fee and the given amounts. @returns the changed attempt */
async function reserveExactly<Attempt extends LiveAttempt | PendingAttempt>(tx: Tx, attempt: Attempt, effect: Amounts): Promise<Attempt> {
  const before = amountsOf(readSpends(attempt.spends));
  const after = add(effect, feeOf(attempt));
  const changes = [...new Set([...before.keys(), ...after.keys()])].map((asset) => ({
    asset,
    amount: (after.get(asset) ?? 0n) - (before.get(asset) ?? 0n),
  }));
  if (changes.every(({ amount }) => amount === 0n)) return attempt;
  const spends = spendsOf(after);
  await moveOutflows(tx, attempt.spend_day, attempt.priority, changes);
  await tx.query(storeSpends, [attempt.id, attempt.n, storedSpends(spends)]);
  return { ...attempt, spends: spends.map(({ asset, amount }) => ({ asset, amount: String(amount) })) };
}
