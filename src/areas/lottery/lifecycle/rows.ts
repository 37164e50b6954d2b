import { sql } from 'kysely';
import type { RoundParameters } from '#lib/draw/parameters.ts';
import type { SignedAnnouncement, SignedClosed } from '#lib/draw/statements.ts';
import { run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { build, type RoundRow, type RoundState } from '../rows.ts';

/** A round that was opened and whose parameters are frozen. */
export interface OpenedRound extends RoundRow {
  readonly parameters: RoundParameters;
  readonly parametersHash: string;
  readonly announcement: SignedAnnouncement;
}

/** A round whose entries are frozen. */
export interface ClosedRound extends OpenedRound {
  readonly closed: SignedClosed;
}

export const isOpened = (round: RoundRow): round is OpenedRound =>
  round.parameters !== null && round.parametersHash !== null && round.announcement !== null;
export const isClosed = (round: RoundRow): round is ClosedRound => isOpened(round) && round.closed !== null;

const lock = statement<{ id: string }>('lock_round_in_state', 'select id::text from rounds where id = $1 and state = $2 for update');

/**
 * Locks a round if it is still in the given state.
 * @returns false when the round is in another state
 */
export async function lockInState(tx: Tx, round: string, state: RoundState): Promise<boolean> {
  return (await tx.query(lock, [round, state])).length > 0;
}

/**
 * Sets the delay before `sweepRounds` enqueues a job for a round again.
 * @param ms length of the delay, ms
 */
export async function postponeRound(tx: Tx, round: string, ms: number): Promise<void> {
  const lookAt = sql<string>`app_now() + make_interval(secs => ${ms / 1_000})`;
  await run(tx, build.updateTable('rounds').set({ look_at: lookAt }).where('id', '=', round));
}

/** Stores the tree of a round, level by level. */
export async function storeTree(tx: Tx, round: string, tree: readonly Uint8Array[]): Promise<void> {
  await run(tx, build.insertInto('round_levels').values(tree.map((nodes, level) => ({ round, level, nodes: Buffer.from(nodes) }))));
}
