import type { RoundParameters } from '#lib/draw/parameters.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { RoundRow, RoundState } from '../rows.ts';

/** A round that was opened and whose parameters are frozen. */
export interface OpenedRound extends RoundRow {
  readonly parameters: RoundParameters;
  readonly parametersHash: string;
}

export const isOpened = (round: RoundRow): round is OpenedRound => round.parameters !== null && round.parametersHash !== null;

const lock = statement<{ id: string }>('lock_round_in_state', 'select id::text from rounds where id = $1 and state = $2 for update');

/**
 * Locks a round if it is still in the given state.
 * @returns false when the round is in another state
 */
export async function lockInState(tx: Tx, round: string, state: RoundState): Promise<boolean> {
  return (await tx.query(lock, [round, state])).length > 0;
}

const postpone = statement('postpone_round', `update rounds set look_at = app_now() + make_interval(secs => $2::float8 / 1000) where id = $1`);

/**
 * Sets the delay before `sweepRounds` enqueues a job for a round again.
 * @param ms length of the delay, ms
 */
export async function postponeRound(tx: Tx, round: string, ms: number): Promise<void> {
  await tx.query(postpone, [round, ms]);
}

const deleteLevels = statement('delete_round_levels', 'delete from round_levels where round = $1');
const insertLevels = statement(
  'insert_round_levels',
  'insert into round_levels (round, level, nodes) select $1, n - 1, nodes from unnest($2::bytea[]) with ordinality as l(nodes, n)',
);

/**
 * Replaces the stored tree of a round.
 * @param tree levels of the new tree; null deletes the stored tree
 */
export async function storeTree(tx: Tx, round: string, tree: readonly Uint8Array[] | null): Promise<void> {
  await tx.query(deleteLevels, [round]);
  await tx.query(insertLevels, [round, (tree ?? []).map((level) => Buffer.from(level))]);
}

const clock = statement<{ now: number }>('read_clock_of_rounds', `select floor(extract(epoch from app_now()) * 1000)::float8 as now`);

/** Reads the database's clock, ms since 1970. */
export async function readDatabaseClock(db: Queryable): Promise<number> {
  const now = (await db.query(clock))[0]?.now;
  if (now === undefined) throw new Error('the database returned no time');
  return now;
}
