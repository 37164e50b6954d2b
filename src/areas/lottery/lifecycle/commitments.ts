import { sql } from 'kysely';
import type { LandedCommitment } from '#lib/draw/audit.ts';
import { millis } from '#lib/draw/bytes.ts';
import { roundLeaf } from '#lib/draw/round-leaf.ts';
import { isoInstant, run } from '#platform/db/query-builder.ts';
import type { Queryable } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { build } from '../rows.ts';
import type { ClosedRound } from './rows.ts';

/** Returns the leaf of a closed round, hex: the value that its commitment contains. Precondition: the root is computed. */
export function leafOf({ id, root, closed }: ClosedRound): string {
  if (root === null) throw new Error(`round ${id} has no root`);
  const { closedAt, count, runningHash, parametersHash } = closed.statement;
  return roundLeaf({ round: id, root, count, runningHash, parametersHash, closedAt: millis(closedAt) });
}

/** A finalized commitment whose block is final too. */
export type RecordedCommitment = LandedCommitment & { readonly blockhash: string };

/** Stores the commitment of a round. Precondition: the transaction has locked the round's row. */
export async function recordCommitment(tx: Tx, round: string, commitment: RecordedCommitment, signature: string | null): Promise<void> {
  const { account, beaconRound, slot, at, leaf, blockhash } = commitment;
  const row = { round, account, leaf: Buffer.from(leaf, 'hex'), beacon_round: String(beaconRound), slot: String(slot), at, blockhash, signature };
  await run(tx, build.insertInto('commitments').values(row));
}

const recorded = build
  .selectFrom('commitments')
  .select(['account', 'blockhash', sql<number>`beacon_round::float8`.as('beaconRound'), sql<number>`slot::float8`.as('slot')])
  .select([isoInstant('at').as('at'), sql<string>`encode(leaf, 'hex')`.as('leaf')]);

/** Reads the recorded commitment of a round. */
export async function readCommitment(db: Queryable, round: string): Promise<RecordedCommitment | undefined> {
  return (await run(db, recorded.where('round', '=', round)))[0];
}
