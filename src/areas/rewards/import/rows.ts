import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { DistributionPage } from './distribution.ts';

/** What was imported for an epoch, and what became of it. Hashes are hex. */
export interface ImportRow {
  id: string;
  epoch: number;
  state: 'building' | 'done' | 'refused';
  hash: string;
  /** The root that the caller expects, if any. */
  root: string | null;
  rows: number;
  reason: string | null;
}

const COLUMNS = `id::text, epoch, state, encode(hash, 'hex') as hash, encode(root, 'hex') as root, rows, reason`;
const selectBuilding = statement<ImportRow>(
  'select_building_import',
  `select ${COLUMNS} from reward_imports where epoch = $1 and state = 'building'`,
);
const selectStanding = statement<ImportRow>(
  'select_standing_import',
  `select ${COLUMNS} from reward_imports where epoch = $1 and state <> 'refused'`,
);
const selectImport = statement<ImportRow>('select_import', `select ${COLUMNS} from reward_imports where id = $1`);

/** The import of which an epoch is being made. */
export const findBuilding = async (db: Queryable, epoch: number): Promise<ImportRow | null> => (await db.query(selectBuilding, [epoch]))[0] ?? null;
/** The import that an epoch is made of, or is being made of. */
export const findStanding = async (db: Queryable, epoch: number): Promise<ImportRow | null> => (await db.query(selectStanding, [epoch]))[0] ?? null;
export const readImport = async (db: Queryable, id: string): Promise<ImportRow | null> => (await db.query(selectImport, [id]))[0] ?? null;

const insertImport = statement('insert_import', `insert into reward_imports (id, epoch, hash, root, rows) values ($1, $2, $3, $4, $5)`);
const insertPage = statement('insert_import_page', `insert into reward_import_pages (import, page, wallets, amounts) values ($1, $2, $3, $4)`);

/** Puts an import down, with its rows page by page. */
export async function insertImportRows(
  tx: Tx,
  asked: { id: string; epoch: number; hash: Uint8Array; root: Uint8Array | null; rows: number },
  pages: number,
  page: (number: number) => Promise<DistributionPage>,
): Promise<void> {
  const { id, epoch, hash, root, rows } = asked;
  await tx.query(insertImport, [id, epoch, Buffer.from(hash), root && Buffer.from(root), rows]);
  for (let number = 0; number < pages; number++) {
    const { wallets, amounts } = await page(number);
    await tx.query(insertPage, [id, number, wallets, amounts]);
  }
}

const decide = statement<{ epoch: number }>(
  'decide_import',
  `update reward_imports set state = $2, reason = $3, decided_at = app_now() where id = $1 and state = 'building' returning epoch`,
);
const forgetPages = statement('forget_import_pages', 'delete from reward_import_pages where import = $1');
const forgetEpoch = statement('forget_refused_epoch', `delete from epochs where epoch = $1 and state = 'computing' and source = 'import'`);

/** Closes an import: its rows are not needed any more. Of a refused one nothing stays but that it was refused, and why. */
export async function decideImport(tx: Tx, id: string, verdict: 'done' | { refusedBecause: string }): Promise<void> {
  const refused = verdict !== 'done';
  const decided = (await tx.query(decide, [id, refused ? 'refused' : 'done', refused ? verdict.refusedBecause : null]))[0];
  if (!decided) throw new Error(`import ${id} is decided already`);
  await tx.query(forgetPages, [id]);
  if (refused) await tx.query(forgetEpoch, [decided.epoch]);
}
