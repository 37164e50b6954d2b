import { type InferResult, sql } from 'kysely';
import { run } from '#platform/db/query-builder.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { build } from '../query-builder.ts';
import type { DistributionPage } from './distribution.ts';

/** Selects imports with their states. Hashes are hex. `root` is null when the caller announced no root. */
const imports = build
  .selectFrom('reward_imports')
  .select(['id', 'epoch', 'state', 'rows', 'reason'])
  .select([sql<string>`encode(hash, 'hex')`.as('hash'), sql<string | null>`encode(root, 'hex')`.as('root')]);
type ImportRow = InferResult<typeof imports>[number];

/** Returns the import from which an epoch is being computed, or null when there is none. */
export const findBuildingImport = async (db: Queryable, epoch: number): Promise<ImportRow | null> =>
  (await run(db, imports.where('epoch', '=', epoch).where('state', '=', 'building')))[0] ?? null;
/** Returns the import of an epoch that was not refused, or null. The epoch can still be computing. */
export const findAcceptedImport = async (db: Queryable, epoch: number): Promise<ImportRow | null> =>
  (await run(db, imports.where('epoch', '=', epoch).where('state', '<>', 'refused')))[0] ?? null;
export const readImport = async (db: Queryable, id: string): Promise<ImportRow | null> => (await run(db, imports.where('id', '=', id)))[0] ?? null;

/** Inserts an import and all pages of its rows. `checked`: whether the wallets were compared with the chain. */
export async function insertImportRows(
  tx: Tx,
  row: { id: string; epoch: number; state: 'waiting' | 'building'; hash: Uint8Array; root: Uint8Array | null; rows: number; checked: boolean },
  pages: number,
  page: (number: number) => Promise<DistributionPage>,
): Promise<void> {
  const { id, epoch, state, hash, root, rows, checked } = row;
  const values = { id, epoch, state, hash: Buffer.from(hash), root: root && Buffer.from(root), rows };
  await run(tx, build.insertInto('reward_imports').values(values));
  for (let number = 0; number < pages; number++) {
    const { wallets, amounts } = await page(number);
    await run(tx, build.insertInto('reward_import_pages').values({ import: id, page: number, wallets, amounts, checked }));
  }
}

/** Sets an import that waits for its approval to `building`. */
export async function startImport(tx: Tx, id: string): Promise<void> {
  const start = build.updateTable('reward_imports').set({ state: 'building' }).where('id', '=', id).where('state', '=', 'waiting');
  if ((await run(tx, start.returning('epoch'))).length === 0) throw new Error(`import ${id} does not wait for its approval`);
}

const selectApproval = statement<{ id: string }>(
  'select_import_approval',
  `select id::text from approvals where kind = 'import' and state = 'pending' and payload->>'importId' = $1 limit 1`,
);

/** Returns the id of the approval for which an import waits, or null. */
export const findImportApproval = async (db: Queryable, importId: string): Promise<string | null> =>
  (await db.query(selectApproval, [importId]))[0]?.id ?? null;

/** Stores the result of an import and deletes the pages of its rows. If the import is refused, also deletes its epoch. */
export async function closeImport(tx: Tx, id: string, result: 'done' | { refusedBecause: string }): Promise<void> {
  const refused = result !== 'done';
  const decided = { state: refused ? 'refused' : 'done', reason: refused ? result.refusedBecause : null } as const;
  const close = build.updateTable('reward_imports').set({ ...decided, decided_at: sql`app_now()` });
  const [closed] = await run(tx, close.where('id', '=', id).where('state', 'in', ['waiting', 'building']).returning('epoch'));
  if (!closed) throw new Error(`import ${id} has a result already`);
  await run(tx, build.deleteFrom('reward_import_pages').where('import', '=', id));
  if (!refused) return;
  // The epoch of an import that waited for its approval does not exist, or belongs to the points of the day.
  const refusedEpoch = build.deleteFrom('epochs').where('epoch', '=', closed.epoch).where('state', '=', 'computing').where('source', '=', 'import');
  await run(tx, refusedEpoch);
}
