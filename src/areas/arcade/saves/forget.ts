import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';

const findRecord = statement<{ id: string }>('find_game_record', 'select id::text from game_records where id = $1');
// The function of the database logs the erasure. It returns false when the record was erased before.
const eraseOne = statement<{ erased: boolean }>('erase_game_record', 'select erase_game_record($1, $2, $3) as erased');
const eraseOfWallet = statement<{ erased: boolean }>(
  'erase_game_records_of_wallet',
  `select erase_game_record(r.id, $3, $4) as erased from (
     select id from game_records where wallet = $1 and salt is not null and at <= $2::timestamptz limit $5) r`,
);
const deleteStates = statement<{ gameId: string }>(
  'delete_game_states',
  'delete from game_states where wallet = $1 and ($2::text is null or game_id = $2) returning game_id as "gameId"',
);

/** Who demands an erasure, and why. */
export interface ErasureCause {
  readonly by: string;
  readonly reason: string;
}

/** Returns whether a record exists, erased or not. */
export async function recordExists(db: Queryable, id: string): Promise<boolean> {
  return (await db.query(findRecord, [id])).length > 0;
}

/** Erases the content of a record. Its hash chain can still be verified. Idempotent. Precondition: the record exists. */
export async function eraseRecord(tx: Tx, id: string, { by, reason }: ErasureCause): Promise<void> {
  await tx.query(eraseOne, [id, by, reason]);
}

/**
 * Erases the content of up to `limit` records of a wallet that are not newer than `until`.
 * @returns the number of erased records
 */
export async function eraseRecordsOf(tx: Tx, wallet: string, until: string, limit: number, { by, reason }: ErasureCause): Promise<number> {
  return (await tx.query(eraseOfWallet, [wallet, until, by, reason, limit])).length;
}

/** Deletes the saved states of a wallet: of one game, or of all games when `gameId` is null. @returns the number of deleted states */
export async function deleteSavedStates(tx: Tx, wallet: string, gameId: string | null): Promise<number> {
  return (await tx.query(deleteStates, [wallet, gameId])).length;
}
