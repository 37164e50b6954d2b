import { LockMode, raw } from '@mikro-orm/core';
import { sql } from 'kysely';
import { canonicalize } from '#lib/canonical.ts';
import { fail } from '#lib/errors.ts';
import { prepared, run } from '#platform/db/query-builder.ts';
import type { Queryable } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { build } from './build.ts';
import { CabinetsTable } from './entities.ts';
import { cabinetPossessed, cabinetReleased } from './events.ts';
import { type ExpectedVersions, matchesExpected, staleVersion } from './versions.ts';

/**
 * A machine in the arcade that shows a game. A named entity can possess the cabinet: the entity then controls the cabinet until an operator releases
 * it.
 */
export interface Cabinet {
  id: string;
  gameId: string;
  status: 'normal' | 'possessed';
  /** Name of the entity that possesses the cabinet; null in normal operation. */
  possessedBy: string | null;
  /** Free-form data for front ends, such as the cabinet's name and position. */
  display: Record<string, unknown>;
  version: number;
}

type CabinetColumns = Omit<Cabinet, 'status'>;

const COLUMNS = ['id', 'game_id as gameId', 'possessed_by as possessedBy', 'display', 'version'] as const;
const cabinets = build
  .selectFrom('cabinets')
  .select(COLUMNS)
  .orderBy('id', (order) => order.collate('C'));
// Named, because many clients read the state of the arcade at once after a reset of the event stream.
const selectCabinets = prepared('select_cabinets', cabinets);

const present = (row: CabinetColumns): Cabinet => ({ ...row, status: row.possessedBy === null ? 'normal' : 'possessed' });

/** Lists every cabinet, ordered by id. */
export async function listCabinets(db: Queryable): Promise<Cabinet[]> {
  return (await db.query(selectCabinets)).map(present);
}

const insertCabinet = (cabinet: Pick<Cabinet, 'id' | 'gameId' | 'display'>) =>
  build
    .insertInto('cabinets')
    .values({ id: cabinet.id, game_id: cabinet.gameId, display: cabinet.display, version: 1 })
    .onConflict((conflict) => conflict.doNothing())
    .returning('id');

/**
 * Creates a cabinet, or changes its game and display. If nothing changes, the cabinet keeps its version. Never changes `possessedBy`.
 * @throws 412 when `expected` does not match the cabinet's version
 */
export async function putCabinet(
  tx: Tx,
  { id, gameId, display }: Pick<Cabinet, 'id' | 'gameId' | 'display'>,
  expected: ExpectedVersions,
): Promise<{ cabinet: Cabinet; created: boolean }> {
  if (matchesExpected(expected, 0) && (await run(tx, insertCabinet({ id, gameId, display }))).length > 0) {
    return { cabinet: present({ id, gameId, display, possessedBy: null, version: 1 }), created: true };
  }
  const row = await tx.em.findOne(CabinetsTable, id, { lockMode: LockMode.PESSIMISTIC_WRITE });
  if (!row || !matchesExpected(expected, row.version)) throw staleVersion();
  if (row.gameId !== gameId || canonicalize(row.display) !== canonicalize(display)) {
    row.version += 1;
    row.gameId = gameId;
    row.display = display;
    row.updatedAt = raw('app_now()');
  }
  return { cabinet: present({ id, gameId, display, possessedBy: row.possessedBy ?? null, version: row.version }), created: false };
}

const setPossessedBy = (id: string, possessedBy: string | null) =>
  build
    .updateTable('cabinets')
    .set({ possessed_by: possessedBy, updated_at: sql`app_now()` })
    .where('id', '=', id)
    .where('possessed_by', possessedBy === null ? 'is not' : 'is', null)
    .returning(COLUMNS);

/**
 * Gives an entity control of a cabinet. The cabinet keeps its version, because the version counts only changes of the game and the display.
 * @throws 404 when the cabinet does not exist
 * @throws 409 when an entity possesses the cabinet already
 */
export async function possessCabinet(tx: Tx, id: string, by: string): Promise<Cabinet> {
  const [taken] = await run(tx, setPossessedBy(id, by));
  if (!taken) throw await conflictOrMissing(tx, id, 'the cabinet is possessed already');
  tx.emit(cabinetPossessed, { cabinetId: id, gameId: taken.gameId, by });
  return present(taken);
}

/**
 * Returns a cabinet to normal operation.
 * @throws 404 when the cabinet does not exist
 * @throws 409 when no entity possesses the cabinet
 */
export async function releaseCabinet(tx: Tx, id: string): Promise<Cabinet> {
  const [released] = await run(tx, setPossessedBy(id, null));
  if (!released) throw await conflictOrMissing(tx, id, 'the cabinet is not possessed');
  tx.emit(cabinetReleased, { cabinetId: id, gameId: released.gameId });
  return present(released);
}

const conflictOrMissing = async (tx: Tx, id: string, conflict: string) =>
  (await run(tx, build.selectFrom('cabinets').select('id').where('id', '=', id))).length > 0 ? fail(409, conflict) : fail(404, 'no such cabinet');
