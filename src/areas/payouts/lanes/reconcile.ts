import { PublicKey } from '@solana/web3.js';
import type { App } from '#platform/app.ts';
import { rpc } from '#platform/solana/solana.ts';
import { decodeNonce } from './account.ts';
import { type LaneHistory, readLaneHistory } from './history.ts';
import { type Lane, selectLanes, selectStaleLanes, settleLane } from './rows.ts';
import { insertUnknownTransactions, matchTransactions } from './unmatched-transactions.ts';

/** The result of reconciling lanes with the chain. */
export interface LaneReconciliation {
  /** Whether every transaction that landed on a lane is known and settled. */
  readonly clear: boolean;
  /** Differences that an operator must resolve, one sentence each. A payment that is created later can also resolve one. */
  readonly problems: readonly string[];
}

/** Maximum accounts per RPC request. */
const MAX_ACCOUNTS_PER_REQUEST = 100;

/**
 * Reads the finalized nonces of lanes, and frees each lane whose latest transaction is known. A nonce that advanced without a
 * known transaction is a sign of a restored database.
 * @param which `stale`: only lanes whose nonce may have been used; `all`: every lane
 */
export async function reconcileLanes(app: App, which: 'stale' | 'all'): Promise<LaneReconciliation> {
  const lanes = await app.db.query(which === 'all' ? selectLanes : selectStaleLanes);
  const problems: string[] = [];
  let clear = true;
  for (let i = 0; i < lanes.length; i += MAX_ACCOUNTS_PER_REQUEST) {
    const chunk = lanes.slice(i, i + MAX_ACCOUNTS_PER_REQUEST);
    const addresses = chunk.map(({ address }) => new PublicKey(address));
    const { context, value } = await rpc(() => app.chain.connection.getMultipleAccountsInfoAndContext(addresses, { commitment: 'finalized' }));
    for (const [n, lane] of chunk.entries()) {
      const found = await reconcileLane(app, lane, decodeNonce(value[n] ?? null)?.value ?? null, context.slot);
      if (found !== 'clear') clear = false;
      if (Array.isArray(found)) problems.push(...found);
    }
  }
  return { clear, problems };
}

/** The result for one lane: `clear`, `waiting` when the chain does not give an answer yet, or the problems. */
type LaneResult = 'clear' | 'waiting' | readonly string[];

async function reconcileLane(app: App, lane: Lane, value: string | null, slot: number): Promise<LaneResult> {
  if (slot < lane.nonceSlot || slot < lane.landedSlot) return 'waiting';
  if (value === null) return lane.nonce === null ? 'clear' : [`the nonce account ${lane.address} of lane ${lane.lane} does not exist any more`];
  if (value === lane.nonce && !lane.stale) return 'clear';
  // `accepted`: an operator decided to continue with the present nonce.
  if (value === lane.nonce || lane.accepted) return await freeLane(app, lane, value, slot, null);
  const history = await readLaneHistory(app, lane, slot);
  const problems = await app.tx(async (tx) => {
    await insertUnknownTransactions(tx, lane, history.fresh);
    return await matchTransactions(app, tx, lane);
  });
  if (problems.length > 0) return problems;
  if (!history.complete || history.uses.some(({ by, settled }) => by === 'attempt' && !settled)) return 'waiting';
  // Searches all uses, because after an operator accepted the lane the history still contains earlier uses.
  if (lane.nonce === null || history.uses.some(({ nonce }) => nonce === lane.nonce)) return await freeLane(app, lane, value, slot, history);
  // The history of an RPC node may lag behind its accounts.
  if (lane.age < app.config.chain.submission.recheckMs) return 'waiting';
  return [`lane ${lane.lane}: the nonce ${lane.nonce} was used by an unknown transaction`];
}

/** Stores the nonce that was read, unless a batch still uses the lane. */
async function freeLane(app: App, lane: Lane, value: string, slot: number, history: LaneHistory | null): Promise<LaneResult> {
  const last = history?.uses.at(-1);
  await app.tx((tx) => tx.query(settleLane, [lane.lane, lane.address, value, slot, last?.signature ?? null, last?.slot ?? 0, lane.nonce]));
  return 'clear';
}
