import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { DistributionPage } from './distribution.ts';

/** An import of an epoch, with its state. Hashes are hex. */
interface ImportRow {
  id: string;
  epoch: number;
  state: 'building' | 'done' | 'refused';
  hash: string;
  /** Root that the caller announced; null when the caller announced none. */
  root: string | null;
  rows: number;
  reason: string | null;
}

const COLUMNS = `id::text, epoch, state, encode(hash, 'hex') as hash, encode(root, 'hex') as root, rows, reason`;
const selectBuilding = statement<ImportRow>(
  'select_building_import',
  `select ${COLUMNS} from reward_imports where epoch = $1 and state = 'building'`,
);
const selectAccepted = statement<ImportRow>(
  'select_accepted_import',
  `select ${COLUMNS} from reward_imports where epoch = $1 and state <> 'refused'`,
);
const selectImport = statement<ImportRow>('select_import', `select ${COLUMNS} from reward_imports where id = $1`);

/** Returns the import from which an epoch is being computed, or null when there is none. */
export const findBuildingImport = async (db: Queryable, epoch: number): Promise<ImportRow | null> =>
  (await db.query(selectBuilding, [epoch]))[0] ?? null;
/** Returns the import of an epoch that was not refused, or null. The epoch can still be computing. */
export const findAcceptedImport = async (db: Queryable, epoch: number): Promise<ImportRow | null> =>
  (await db.query(selectAccepted, [epoch]))[0] ?? null;
export const readImport = async (db: Queryable, id: string): Promise<ImportRow | null> => (await db.query(selectImport, [id]))[0] ?? null;

const insertImport = statement('insert_import', `insert into reward_imports (id, epoch, hash, root, rows) values ($1, $2, $3, $4, $5)`);
const insertPage = statement('insert_import_page', `insert into reward_import_pages (import, page, wallets, amounts) values ($1, $2, $3, $4)`);

/** Inserts an import and all pages of its rows. */
export async function insertImportRows(
  tx: Tx,
  row: { id: string; epoch: number; hash: Uint8Array; root: Uint8Array | null; rows: number },
  pages: number,
  page: (number: number) => Promise<DistributionPage>,
): Promise<void> {
  const { id, epoch, hash, root, rows } = row;
  await tx.query(insertImport, [id, epoch, Buffer.from(hash), root && Buffer.from(root), rows]);
  for (let number = 0; number < pages; number++) {
    const { wallets, amounts } = await page(number);
    await tx.query(insertPage, [id, number, wallets, amounts]);
  }
}

const updateState = statement<{ epoch: number }>(
  'decide_import',
  `update reward_imports set state = $2, reason = $3, decided_at = app_now() where id = $1 and state = 'building' returning epoch`,
);
const deletePages = statement('delete_import_pages', 'delete from reward_import_pages where import = $1');
const deleteRefusedEpoch = statement('delete_refused_epoch', `delete from epochs where epoch = $1 and state = 'computing' and source = 'import'`);

/** Stores the result of an import and deletes the pages of its rows. If the import is refused, also deletes its epoch. */
export async function closeImport(tx: Tx, id: string, result: 'done' | { refusedBecause: string }): Promise<void> {
  const refused = result !== 'done';
  const closed = (await tx.query(updateState, [id, refused ? 'refused' : 'done', refused ? result.refusedBecause : null]))[0];
  if (!closed) throw new Error(`import ${id} has a result already`);
  await tx.query(deletePages, [id]);
  if (refused) await tx.query(deleteRefusedEpoch, [closed.epoch]);
}
