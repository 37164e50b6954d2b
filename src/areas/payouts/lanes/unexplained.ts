import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { type LandedAttempt, type OwnAttempts, readNonceAfter, selectLandedAfter } from './own-attempts.ts';
import { type LaneResult, type ReadNonce, unexplained } from './result.ts';
import type { Lane } from './rows.ts';
import { scanPart } from './scan.ts';
import { claimScan, type LaneScan, newScan, releaseScan, saveScan, selectUsesAfter } from './scan-rows.ts';
import { matchTransactions } from './unmatched-transactions.ts';

/** Number of slots that are listed again when a history ends before the present nonce, because an RPC node may list a transaction late. */
const RELIST_SLOTS = 600;

/** Returns the slot after which transactions may have used the stored nonce of a lane or a later nonce. */
const floorOf = (lane: Lane): number => (lane.nonce === null ? 0 : lane.nonceSlot);

/**
 * Reads the next part of a lane's history and matches the transactions that it contains with payments. Call it only for a lane whose nonce no
 * transaction in the database explains.
 * @returns the last use of a nonce (`null` for none) when the history explains the present nonce; otherwise the result for the lane
 */
export async function explainByHistory(
  app: App,
  lane: Lane,
  read: ReadNonce & { readonly value: string },
  own: OwnAttempts,
): Promise<{ readonly last: LandedAttempt | null } | Exclude<LaneResult, string>> {
  const stored = await claimScan(app, lane, floorOf(lane));
  if (stored === undefined) return unexplained();
  try {
    const { scan, stuck } = stored.complete ? { scan: stored, stuck: null } : await scanPart(app, lane, stored, read.slot);
    const [problem, ...problems] = await app.tx((tx) => matchTransactions(app, tx, lane));
    if (problem !== undefined) return { problems: [problem, ...problems] };
    if (!scan.complete) return unexplained(stuck);
    return await checkUses(app, lane, read, own, scan);
  } finally {
    await releaseScan(app, lane);
  }
}

/** Checks that the uses of nonces in the database lead from the stored nonce of a lane to its present nonce. */
async function checkUses(app: App, lane: Lane, { value }: ReadNonce, own: OwnAttempts, scan: LaneScan): ReturnType<typeof explainByHistory> {
  const floor = floorOf(lane);
  const found = await Promise.all([run(app.db, selectLandedAfter(lane.address, floor)), run(app.db, selectUsesAfter(lane.address, floor))]);
  const uses = found.flat().sort((a, b) => a.slot - b.slot);
  const isUsed = lane.nonce === null || uses.some(({ nonce }) => nonce === lane.nonce);
  const last = uses.at(-1) ?? null;
  const newest = last?.slot ?? scan.openedSlot;
  const after = newest === null ? null : await readNonceAfter(app, newest);
  // Without the block, the history itself is the proof: it was read back to the slot at which the stored nonce was read.
  if (isUsed && (after === null || after === value)) return { last };
  // A later transaction used the nonce, or the RPC node lists a transaction late. So the newest part of the history is read again.
  const again = newScan(Math.max(floor, (scan.topSlot ?? 0) - RELIST_SLOTS));
  await app.tx((tx) => saveScan(tx, lane, scan, again));
  if (isUsed || own.pending || (lane.waited ?? 0) < app.config.chain.submission.recheckMs) return unexplained();
  return { problems: [`lane ${lane.lane}: the nonce ${lane.nonce} was used by an unknown transaction`] };
}
