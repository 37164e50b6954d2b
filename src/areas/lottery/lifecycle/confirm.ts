import { sql } from 'kysely';
import { isInTime, timeOf } from '#lib/draw/beacon-chain.ts';
import { instantOf, millis } from '#lib/draw/bytes.ts';
import { type Commitment, parseMemo } from '#lib/draw/commitment.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { beaconOf } from '#platform/solana/beacon/index.ts';
import { parseAddress } from '#platform/solana/primitives.ts';
import { retry, submissionOf, submit } from '#platform/solana/submission/index.ts';
import { roundCommitted } from '../events.ts';
import { build } from '../rows.ts';
import { readLanded } from './chain.ts';
import { commitmentMismatch, drawCommitment } from './commitment.ts';
import { type CommitmentWithBeacon, pendingAuditText } from './pending-audit.ts';
import { lockInState, type OpenedRound, postponeRound } from './rows.ts';
import { readPosition, recordLanded } from './sequence.ts';
import { voidCommitted } from './void.ts';

/** Delay before a retry while the commitment is pending, ms. */
const PENDING_RETRY_MS = 1_000;
/** Delay before a retry after the commitment failed or did not match its round, ms. */
const REJECTED_RETRY_MS = 30_000;

/**
 * Copies a round's commitment from the chain to the database when the commitment's transaction is finalized. Until then, postpones the round.
 * @returns false when the round cannot advance now
 */
export async function confirmCommitment(app: App, round: OpenedRound): Promise<boolean> {
  const { id } = round;
  const standing = await submissionOf(app.db, drawCommitment, id);
  if (standing?.state !== 'finalized' || standing.signature === null) {
    await app.tx(async (tx) => {
      if (!standing) await submit(tx, drawCommitment, [id]);
      if (standing?.state === 'failed') await retry(tx, drawCommitment, [id]);
      await postponeRound(tx, id, standing?.state === 'failed' || standing?.state === 'manual' ? REJECTED_RETRY_MS : PENDING_RETRY_MS);
    });
    return false;
  }
  // Uses the committer key that is stored with the round's position in the sequence, because this key signed the commitment. The configured committer
  // key may have been replaced since then.
  const place = await readPosition(app.db, id);
  const committer = place ? parseAddress(place.committer) : app.chain.address('committer');
  const landed = await readLanded(app, standing.signature, committer);
  if (!landed) {
    app.log.warn(
      { round: id, signature: standing.signature },
      'the RPC node does not return the finalized commitment of a round yet; the read is retried',
    );
    return await postpone(app, id, PENDING_RETRY_MS);
  }
  const commitment = parseMemo(landed.memo);
  const mismatch = commitment === null ? 'its memo is malformed' : commitmentMismatch(app, round, commitment);
  if (commitment === null || mismatch !== null) return await reportMismatch(app, id, mismatch);
  const refusal = await recordCommitment(app, round, commitment, { commitment: landed, chain: await beaconOf(app).chain() });
  return refusal === null ? true : await reportMismatch(app, id, refusal);
}

async function postpone(app: App, round: string, ms: number): Promise<false> {
  await app.tx((tx) => postponeRound(tx, round, ms));
  return false;
}

async function reportMismatch(app: App, round: string, why: string | null): Promise<false> {
  app.log.error({ round, why }, 'the commitment on the chain does not match its round; the round waits for an operator');
  return await postpone(app, round, REJECTED_RETRY_MS);
}

/**
 * Records a commitment. Voids the round when the commitment's block is too late, because the value of the randomness beacon may already have been
 * known at the time of the block.
 * @returns the reason why the commitment cannot be recorded, or null
 */
async function recordCommitment(app: App, round: OpenedRound, commitment: Commitment, landed: CommitmentWithBeacon): Promise<string | null> {
  const { id, kind, parameters } = round;
  const { sequence, beaconRound, entriesRoot, count } = commitment;
  const { chain } = landed;
  const dueAt = instantOf(timeOf(chain, beaconRound));
  const { signature, blockTime } = landed.commitment;
  const inTime = isInTime(chain, beaconRound, millis(blockTime), parameters.marginSec);
  return await app.tx(async (tx) => {
    if (!(await lockInState(tx, id, 'closing'))) return null;
    const refusal = await recordLanded(tx, commitment, landed.commitment);
    if (refusal !== null) return refusal;
    const columns = { beacon_round: String(beaconRound), beacon_due_at: dueAt, look_at: dueAt, audit: pendingAuditText(round, landed, null) };
    const committed = { ...columns, state: 'committed', committed_at: sql<string>`app_now()` } as const;
    await run(tx, build.updateTable('rounds').set(committed).where('id', '=', id));
    if (inTime) tx.emit(roundCommitted, { roundId: id, kind, sequence, entries: count, root: entriesRoot, signature, beaconRound, dueAt });
    else await voidCommitted(tx, app, round, 'late-block', pendingAuditText(round, landed, 'late-block'));
    return null;
  });
}
