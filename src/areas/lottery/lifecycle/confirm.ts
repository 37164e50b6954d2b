import { sql } from 'kysely';
import { timeOf } from '#lib/draw/beacon-chain.ts';
import { buildAudit } from '#lib/draw/build.ts';
import { instantOf } from '#lib/draw/bytes.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { beaconOf } from '#platform/solana/beacon/index.ts';
import { decodeCommitment } from '#platform/solana/draws/index.ts';
import { retry, submissionOf } from '#platform/solana/submission/index.ts';
import { roundCommitted } from '../events.ts';
import { build } from '../rows.ts';
import { accountOf, commitmentMismatch, drawCommitment, submitCommitment } from './commitment.ts';
import { type RecordedCommitment, recordCommitment } from './commitments.ts';
import { type ClosedRound, lockInState, postponeRound } from './rows.ts';

/** Delay before a retry while the commitment is pending, ms. When it is finalized, a job is enqueued at once. */
const PENDING_RETRY_MS = 5_000;
/** Delay before a retry while the RPC node does not return the finalized account or its block, ms. */
const UNREADABLE_RETRY_MS = 1_000;
/** Delay before a retry after the commitment failed or did not match its round, ms. */
const REJECTED_RETRY_MS = 30_000;

/**
 * Copies a round's commitment from the chain to the database when the commitment account is finalized. Until then, postpones the round.
 * @returns false when the round cannot advance now
 */
export async function confirmCommitment(app: App, round: ClosedRound): Promise<boolean> {
  const { id } = round;
  const standing = await submissionOf(app.db, drawCommitment, id);
  if (standing?.state !== 'finalized') {
    await app.tx(async (tx) => {
      if (!standing) await submitCommitment(tx, round);
      if (standing?.state === 'failed') await retry(tx, drawCommitment, [id]);
      await postponeRound(tx, id, standing?.state === 'failed' || standing?.state === 'manual' ? REJECTED_RETRY_MS : PENDING_RETRY_MS);
    });
    return false;
  }
  const address = accountOf(app, round);
  const found = decodeCommitment(app.chain.drawsProgramId, (await app.chain.node.account(address, 'finalized')).account);
  const block = found && (await app.chain.node.block(found.slot));
  if (!found || !block) {
    app.log.warn({ round: id, account: address }, 'the RPC node does not return the finalized commitment of a round yet; the read is retried');
    return await postpone(app, id, UNREADABLE_RETRY_MS);
  }
  const mismatch = commitmentMismatch(round, found);
  if (mismatch !== null) {
    app.log.error(
      { round: id, mismatch },
      'the commitment on the chain does not match its round; the round waits until an operator restores its entries',
    );
    return await postpone(app, id, REJECTED_RETRY_MS);
  }
  const { beaconRound, slot, time, leaf } = found;
  const commitment = { account: address.toBase58(), beaconRound, slot, at: instantOf(time * 1_000), leaf, blockhash: block.blockhash };
  await commit(app, round, commitment, standing.signature);
  return true;
}

async function postpone(app: App, round: string, ms: number): Promise<false> {
  await app.tx((tx) => postponeRound(tx, round, ms));
  return false;
}

/** Records the commitment of a round. The round then waits for its beacon round. */
async function commit(app: App, round: ClosedRound, commitment: RecordedCommitment, signature: string | null): Promise<void> {
  const { id, kind, parameters, announcement, closed, root } = round;
  const { count, runningHash } = closed.statement;
  const { account, beaconRound, slot, leaf } = commitment;
  const chain = await beaconOf(app).chain();
  const dueAt = instantOf(timeOf(chain, beaconRound));
  const facts = { parameters, announcement, closed, entries: { count, root, runningHash }, void: null };
  const audit = JSON.stringify(buildAudit({ ...facts, commitment, beacon: { chain, signature: null } }, null));
  await app.tx(async (tx) => {
    if (!(await lockInState(tx, id, 'closing'))) return;
    await recordCommitment(tx, id, commitment, signature);
    const columns = { beacon_round: String(beaconRound), beacon_due_at: dueAt, look_at: dueAt, audit };
    await run(
      tx,
      build
        .updateTable('rounds')
        .set({ ...columns, state: 'committed', committed_at: sql<string>`app_now()` })
        .where('id', '=', id),
    );
    tx.emit(roundCommitted, { roundId: id, kind, entries: count, root: root ?? '', leaf, account, slot, signature, beaconRound, dueAt });
  });
}
