import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { parseAddress } from '#platform/solana/primitives.ts';
import { decodeNonce } from '#platform/solana/system-program.ts';
import { type LaneHistory, readLaneHistory } from './history.ts';
import { type Lane, selectLanes, settleLane } from './rows.ts';
import { insertUnknownTransactions, matchTransactions } from './unmatched-transactions.ts';

/** The result of comparing lanes with the chain. */
export interface LaneReconciliation {
  /** Whether the database has every transaction that used a nonce of the lanes, and the result of each of these transactions. */
  readonly clear: boolean;
  /**
   * Differences between the chain and the database, one sentence each. If the database lost a payment, the difference disappears when the payment is
   * created again. An operator must resolve all other differences.
   */
  readonly problems: readonly string[];
}

/** Maximum accounts per RPC request. */
const MAX_ACCOUNTS_PER_REQUEST = 100;

/**
 * Compares the finalized nonces of lanes with the database. Frees each lane whose latest transaction is in the database. A nonce that advanced
 * without a transaction in the database shows that an older state of the database was probably restored.
 * @param which `stale`: only lanes whose nonce may have been used; `all`: every lane
 */
export async function reconcileLanes(app: App, which: 'stale' | 'all'): Promise<LaneReconciliation> {
  const lanes = await run(app.db, which === 'all' ? selectLanes : selectLanes.where('stale', '=', true));
  const problems: string[] = [];
  let clear = true;
  for (let i = 0; i < lanes.length; i += MAX_ACCOUNTS_PER_REQUEST) {
    const chunk = lanes.slice(i, i + MAX_ACCOUNTS_PER_REQUEST);
    const addresses = chunk.map(({ address }) => parseAddress(address));
    const { slot, accounts } = await app.chain.node.accounts(addresses, 'finalized');
    for (const [n, lane] of chunk.entries()) {
      const found = await reconcileLane(app, lane, decodeNonce(accounts[n] ?? null)?.value ?? null, slot);
      if (found !== 'clear') clear = false;
      if (Array.isArray(found)) problems.push(...found);
    }
  }
  return { clear, problems };
}

/**
 * The result for one lane. `clear`: no difference was found. `waiting`: data is missing, because the RPC node lags behind or an attempt is not
 * finalized yet. An array: one sentence per difference.
 */
type LaneResult = 'clear' | 'waiting' | readonly string[];

async function reconcileLane(app: App, lane: Lane, value: string | null, slot: number): Promise<LaneResult> {
  if (slot < lane.nonceSlot || slot < lane.landedSlot) return 'waiting';
  if (value === null) return lane.nonce === null ? 'clear' : [`the nonce account ${lane.address} of lane ${lane.lane} does not exist any more`];
  if (value === lane.nonce && !lane.stale) return 'clear';
  // `accepted` means that an operator decided to continue with the nonce that the account has now.
  if (value === lane.nonce || lane.accepted) return await freeLane(app, lane, value, slot, null);
  const history = await readLaneHistory(app, lane, slot);
  const problems = await app.tx(async (tx) => {
    await insertUnknownTransactions(tx, lane, history.fresh);
    return await matchTransactions(app, tx, lane);
  });
  if (problems.length > 0) return problems;
  if (!history.complete || history.uses.some(({ by, settled }) => by === 'attempt' && !settled)) return 'waiting';
  // Searches all uses in the history, not only the last use, because the history of a lane with `accepted` also contains uses of earlier nonces.
  if (lane.nonce === null || history.uses.some(({ nonce }) => nonce === lane.nonce)) return await freeLane(app, lane, value, slot, history);
  // The nonce advanced, but no listed transaction used it. The RPC node's transaction history may lag behind its accounts, so the lane waits before a
  // difference is reported.
  if (lane.age < app.config.chain.submission.recheckMs) return 'waiting';
  return [`lane ${lane.lane}: the nonce ${lane.nonce} was used by an unknown transaction`];
}

/** Stores the nonce that the account has and marks the lane as free, unless a batch still uses the lane. */
async function freeLane(app: App, lane: Lane, value: string, slot: number, history: LaneHistory | null): Promise<LaneResult> {
  const last = history?.uses.at(-1);
  await app.tx((tx) => tx.query(settleLane, [lane.lane, lane.address, value, slot, last?.signature ?? null, last?.slot ?? 0, lane.nonce]));
  return 'clear';
}
