import { HttpError } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { parseAddress } from '#platform/solana/primitives.ts';
import { decodeNonce } from '#platform/solana/system-program.ts';
import { alert } from '../alerts.ts';
import { type LandedAttempt, readNonceAfter, readOwnAttempts } from './own-attempts.ts';
import { type LaneResult, type ReadNonce, reasonOf, unexplained } from './result.ts';
import { type Lane, selectLanes, settleLane, storeReason } from './rows.ts';
import { deleteScan } from './scan-rows.ts';
import { type OtherNonces, readOtherNonces, secondNodeDoubt } from './second-node.ts';
import { explainByHistory } from './unexplained.ts';

/** The result of comparing lanes with the chain. */
export interface LaneReconciliation {
  /** Whether the database has every transaction that used a nonce of the lanes, and the result of each of these transactions. */
  readonly clear: boolean;
  /**
   * Differences between the chain and the database, one sentence each. If the database lost a payment, the difference disappears when the payment is
   * created again. An operator must resolve all other differences.
   */
  readonly problems: readonly string[];
  /** Number of lanes whose history must be read, and number of these for which the RPC nodes do not return the history at present. */
  readonly unexplained: number;
  readonly stuck: number;
}

/** Maximum accounts per RPC request. */
const MAX_ACCOUNTS_PER_REQUEST = 100;

/**
 * Compares the finalized nonces of lanes with the database. Frees each lane whose latest transaction is in the database. A nonce that advanced
 * without a transaction in the database shows that an older state of the database was probably restored.
 * @param which `stale`: only lanes whose nonce may have been used; `all`: every lane
 * @param readsHistory whether to read the next part of the history of each lane that the database does not explain
 */
export async function reconcileLanes(app: App, which: 'stale' | 'all', { readsHistory }: { readsHistory: boolean }): Promise<LaneReconciliation> {
  const lanes = await run(app.db, which === 'all' ? selectLanes : selectLanes.where('stale', '=', true));
  const results: LaneResult[] = [];
  for (let i = 0; i < lanes.length; i += MAX_ACCOUNTS_PER_REQUEST) {
    const chunk = lanes.slice(i, i + MAX_ACCOUNTS_PER_REQUEST);
    const addresses = chunk.map(({ address }) => parseAddress(address));
    const { slot, accounts } = await app.chain.node.accounts(addresses, 'finalized');
    const values = accounts.map((account) => decodeNonce(account)?.value);
    const others = await readOtherNonces(
      app,
      chunk.filter((lane, n) => isChanged(lane, values[n] ?? null)),
    );
    for (const [n, lane] of chunk.entries()) {
      const result = await reconcileLane(app, lane, { value: values[n] ?? null, slot }, others, readsHistory);
      await storeResult(app, lane, result, readsHistory);
      results.push(result);
    }
  }
  const objects = results.filter((result) => typeof result === 'object');
  const unexplained = objects.flatMap((result) => ('unexplained' in result ? [result.unexplained] : []));
  return {
    clear: results.every((result) => result === 'clear'),
    problems: objects.flatMap((result) => ('problems' in result ? result.problems : [])),
    unexplained: unexplained.length,
    stuck: unexplained.filter((state) => state === 'stuck').length,
  };
}

/** Returns whether a lane's nonce differs from the stored one, or may have been used since it was read. */
const isChanged = (lane: Lane, value: string | null): boolean => value !== null && (value !== lane.nonce || lane.stale);

const NOT_FINAL = 'a transaction of the lane has probably landed; the database does not have its result yet';

async function reconcileLane(app: App, lane: Lane, { value, slot }: ReadNonce, others: OtherNonces, readsHistory: boolean): Promise<LaneResult> {
  if (slot < lane.nonceSlot || slot < lane.landedSlot) return 'behind';
  if (value === null) {
    return lane.nonce === null ? 'clear' : { problems: [`the nonce account ${lane.address} of lane ${lane.lane} does not exist any more`] };
  }
  if (!isChanged(lane, value)) return 'clear';
  const doubt = await secondNodeDoubt(app, lane, { value, slot }, others);
  if (doubt !== null) return { waits: doubt };
  // `accepted` means that an operator decided to continue with the nonce that the account has now.
  if (value === lane.nonce || lane.accepted) return await freeLane(app, lane, { value, slot }, null);
  const own = await readOwnAttempts(app.db, lane);
  if (own.landed && (await readNonceAfter(app, own.landed.slot)) === value) return await freeLane(app, lane, { value, slot }, own.landed);
  if (own.pending && (lane.waited ?? 0) < app.config.chain.submission.recheckMs) return { waits: NOT_FINAL };
  if (!readsHistory) return unexplained();
  try {
    const found = await explainByHistory(app, lane, { value, slot }, own);
    return 'last' in found ? await freeLane(app, lane, { value, slot }, found.last) : found;
  } catch (error) {
    // The other lanes do not depend on the history of this lane.
    if (!(error instanceof HttpError)) throw error;
    return unexplained(error.message);
  }
}

/** Stores the reason why a lane waits. Alerts operators when the lane has waited for long. */
async function storeResult(app: App, lane: Lane, result: LaneResult, readsHistory: boolean): Promise<void> {
  const reason = reasonOf(result);
  // A run that does not read the history does not know whether the RPC nodes return it. So it keeps the reason of the run that read the last part.
  if (reason === null || (!readsHistory && lane.reason !== null && typeof result === 'object' && 'unexplained' in result)) return;
  await app.tx((tx) => tx.query(storeReason, [lane.lane, lane.address, reason, lane.nonce]));
  const isOverdue = lane.waited !== null && lane.waited >= app.config.chain.submission.recheckMs;
  if (isOverdue && typeof result === 'object' && !('problems' in result)) alert(app, 'payouts', `lane ${lane.lane} waits: ${reason}`);
}

/** Stores the nonce that the account has and marks the lane as free, unless a batch still uses the lane. */
async function freeLane(app: App, lane: Lane, { value, slot }: ReadNonce, last: LandedAttempt | null): Promise<'clear'> {
  await app.tx(async (tx) => {
    const { lane: number, address, nonce } = lane;
    const settled = await tx.query(settleLane, [number, address, value, slot, last?.signature ?? null, last?.slot ?? 0, nonce]);
    if (settled.length > 0) await deleteScan(tx, number);
  });
  return 'clear';
}
