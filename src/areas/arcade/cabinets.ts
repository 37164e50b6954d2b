import { LockMode, raw } from '@mikro-orm/core';
import { canonicalize } from '#lib/canonical.ts';
import { fail } from '#lib/errors.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { CabinetRow } from './entities.ts';
import { cabinetPossessed, cabinetReleased } from './events.ts';
import { type Expected, isExpected, stale } from './versions.ts';

/** A machine in the arcade. An entity that possesses it controls it until it is released. */
export interface Cabinet {
  id: string;
  gameId: string;
  status: 'normal' | 'possessed';
  /** Who possesses it. */
  possessedBy: string | null;
  /** Name, position, whatever a front end shows it by. */
  display: Record<string, unknown>;
  version: number;
}

type Stored = Omit<Cabinet, 'status'>;

const COLUMNS = 'id, game_id as "gameId", possessed_by as "possessedBy", display, version';
const selectCabinets = statement<Stored>('select_cabinets', `select ${COLUMNS} from cabinets order by id collate "C"`);
const selectCabinet = statement<{ id: string }>('select_cabinet', 'select id from cabinets where id = $1');

const present = (row: Stored): Cabinet => ({ ...row, status: row.possessedBy === null ? 'normal' : 'possessed' });

/** Every cabinet, in the order of ids. */
export async function listCabinets(db: Queryable): Promise<Cabinet[]> {
  return (await db.query(selectCabinets)).map(present);
}

const insertCabinet = statement<{ id: string }>(
  'insert_cabinet',
  'insert into cabinets (id, game_id, display, version) values ($1, $2, $3, 1) on conflict do nothing returning id',
);

/**
 * Creates a cabinet or changes its game and display; what already is as asked keeps its version, and who possesses it stays.
 * @throws 412 when the cabinet is at no version that `expected` takes
 */
export async function putCabinet(
  tx: Tx,
  { id, gameId, display }: Pick<Cabinet, 'id' | 'gameId' | 'display'>,
  expected: Expected,
): Promise<{ cabinet: Cabinet; created: boolean }> {
  if (isExpected(expected, 0) && (await tx.query(insertCabinet, [id, gameId, JSON.stringify(display)])).length > 0) {
    return { cabinet: present({ id, gameId, display, possessedBy: null, version: 1 }), created: true };
  }
  const row = await tx.em.findOne(CabinetRow, id, { lockMode: LockMode.PESSIMISTIC_WRITE });
  if (!row || !isExpected(expected, row.version)) throw stale();
  if (row.gameId !== gameId || canonicalize(row.display) !== canonicalize(display)) {
    row.version += 1;
    row.gameId = gameId;
    row.display = display;
    row.updatedAt = raw('app_now()');
  }
  return { cabinet: present({ id, gameId, display, possessedBy: row.possessedBy ?? null, version: row.version }), created: false };
}

const possess = statement<Stored>(
  'possess_cabinet',
  `update cabinets set possessed_by = $2, updated_at = app_now() where id = $1 and possessed_by is null returning ${COLUMNS}`,
);
const release = statement<Stored>(
  'release_cabinet',
  `update cabinets set possessed_by = null, updated_at = app_now() where id = $1 and possessed_by is not null returning ${COLUMNS}`,
);

/**
 * Gives a cabinet into an entity's control. Its version stays: that is of what it shows, not of who controls it.
 * @throws 404 when there is no such cabinet, 409 when it is possessed, by whomever
 */
export async function possessCabinet(tx: Tx, id: string, by: string): Promise<Cabinet> {
  const [taken] = await tx.query(possess, [id, by]);
  if (!taken) throw await whyNot(tx, id, 'the cabinet is possessed already');
  tx.emit(cabinetPossessed, { cabinetId: id, gameId: taken.gameId, by });
  return present(taken);
}

/**
 * Returns a cabinet to normal operation.
 * @throws 404 when there is no such cabinet, 409 when nobody possesses it
 */
export async function releaseCabinet(tx: Tx, id: string): Promise<Cabinet> {
  const [released] = await tx.query(release, [id]);
  if (!released) throw await whyNot(tx, id, 'the cabinet is possessed by nobody');
  tx.emit(cabinetReleased, { cabinetId: id, gameId: released.gameId });
  return present(released);
}

const whyNot = async (tx: Tx, id: string, conflict: string) =>
  (await tx.query(selectCabinet, [id])).length > 0 ? fail(409, conflict) : fail(404, 'no such cabinet');
