import { PublicKey } from '@solana/web3.js';
import { instantOf, millis } from '#lib/draw/bytes.ts';
import { type Commitment, parseMemo } from '#lib/draw/commitment.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { beaconOf, isInTime, timeOf } from '#platform/solana/beacon/beacon.ts';
import { landingOf, retry, submit } from '#platform/solana/submission/transactions.ts';
import { roundCommitted } from '../events.ts';
import { readLanded } from './chain.ts';
import { drawCommitment, misfitOf } from './commitment.ts';
import { type Landed, undrawnAudit } from './pending-audit.ts';
import { lockIn, lookAgainIn, type OpenedRound } from './rows.ts';
import { placeOf, recordLanded } from './sequence.ts';
import { voidCommitted } from './void.ts';

/** How long until a round is looked at again, ms: whose commitment is on its way, and whose commitment is not what it should be. */
const SOON_MS = 1_000;
const HELD_MS = 30_000;

const commit = statement(
  'commit_round',
  `update rounds set state = 'committed', beacon_round = $2::int8, beacon_due_at = $3, audit = $4, committed_at = app_now(), look_at = $3 where id = $1`,
);

/** Follows a round's commitment until it is final, and takes it from the chain as it landed. @returns whether the round has gone on */
export async function land(app: App, round: OpenedRound): Promise<boolean> {
  const { id } = round;
  const standing = await landingOf(app.db, drawCommitment, id);
  if (standing?.state !== 'finalized' || standing.signature === null) {
    await app.tx(async (tx) => {
      if (!standing) await submit(tx, drawCommitment, [id]);
      if (standing?.state === 'failed') await retry(tx, drawCommitment, [id]);
      await lookAgainIn(tx, id, standing?.state === 'failed' || standing?.state === 'manual' ? HELD_MS : SOON_MS);
    });
    return false;
  }
  // The key may have been rotated since it was signed.
  const place = await placeOf(app.db, id);
  const committer = place ? new PublicKey(place.committer) : app.chain.address('committer');
  const landed = await readLanded(app, standing.signature, committer);
  if (!landed) {
    app.log.warn({ round: id, signature: standing.signature }, 'the commitment of a round cannot be read back yet');
    return await later(app, id, SOON_MS);
  }
  const commitment = parseMemo(landed.memo);
  const misfit = commitment === null ? 'its memo is none' : misfitOf(app, round, commitment);
  if (commitment === null || misfit !== null) return await refuse(app, id, misfit);
  const refusal = await take(app, round, commitment, { commitment: landed, chain: await beaconOf(app).chain() });
  return refusal === null ? true : await refuse(app, id, refusal);
}

async function later(app: App, round: string, ms: number): Promise<false> {
  await app.tx((tx) => lookAgainIn(tx, round, ms));
  return false;
}

async function refuse(app: App, round: string, why: string | null): Promise<false> {
  app.log.error({ round, why }, 'what landed is not the commitment of its round');
  return await later(app, round, HELD_MS);
}

/** Records a commitment; where its block came too late, the beacon may have been known before: the round is void. @returns why not, or null */
async function take(app: App, round: OpenedRound, commitment: Commitment, landed: Landed): Promise<string | null> {
  const { id, kind, parameters } = round;
  const { sequence, beaconRound, entriesRoot, count } = commitment;
  const { chain } = landed;
  const dueAt = instantOf(timeOf(chain, beaconRound));
  const { signature, blockTime } = landed.commitment;
  const inTime = isInTime(chain, beaconRound, millis(blockTime), parameters.marginSec);
  return await app.tx(async (tx) => {
    if (!(await lockIn(tx, id, 'closing'))) return null;
    const misplaced = await recordLanded(tx, commitment, landed.commitment);
    if (misplaced !== null) return misplaced;
    await tx.query(commit, [id, beaconRound, dueAt, undrawnAudit(round, landed, null)]);
    if (inTime) tx.emit(roundCommitted, { roundId: id, kind, sequence, entries: count, root: entriesRoot, signature, beaconRound, dueAt });
    else await voidCommitted(tx, app, round, 'late-block', undrawnAudit(round, landed, 'late-block'));
    return null;
  });
}
