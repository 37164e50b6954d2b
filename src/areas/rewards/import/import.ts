import { computeEpoch } from '#jobs/epochs.ts';
import { fail } from '#lib/errors.ts';
import { newId } from '#lib/ids.ts';
import type { App } from '#platform/app.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { readRules } from '../config.ts';
import { awaitEpoch, createEpochs, currentDay, type Epoch, readEpoch } from '../epochs/epochs.ts';
import { type Distribution, type DistributionPage, MAX_ERRORS } from './distribution.ts';
import { findAcceptedImport, insertImportRows, readImport } from './rows.ts';

/**
 * The result of an import. `created`: this request created the epoch. `existing`: an earlier request with the same rows created the epoch.
 * `building`: the epoch is still being computed.
 */
export interface ImportResult {
  outcome: 'created' | 'existing' | 'building';
  epoch: Epoch;
}

/**
 * Checks that a distribution is valid and returns its header.
 * @throws 400 when rows are invalid or missing, or the header is missing
 */
function checkDistribution({ header, rows, errors, errorCount }: Distribution): NonNullable<Distribution['header']> {
  if (errorCount > 0) {
    const others = errorCount - errors.length;
    const more = others === 0 ? '' : `; and ${errorCount >= MAX_ERRORS ? 'many' : others} more`;
    throw fail(400, `distribution must be valid: ${errors.join('; ')}${more}`);
  }
  if (header === null) throw fail(400, 'the first line of the body must be the header with the epoch');
  if (rows === 0) throw fail(400, 'distribution must have at least one row');
  return header;
}

/**
 * Creates an epoch from a distribution that the caller computed. Each row becomes a leaf, in the given order. Waits at most `waitMs` for the
 * computation of the epoch. If the computation takes longer, the job `computeEpoch` completes the epoch after the response.
 * @param page function that returns one page of the rows; the first page has the number 0
 * @throws 400 when the distribution is invalid or exceeds the pool, when the day of the epoch has not ended, or when the root of the distribution is
 * not the announced root; 409 when the epoch exists with another distribution or was computed from points
 */
export async function importDistribution(
  app: App,
  distribution: Distribution,
  page: (number: number) => Promise<DistributionPage>,
  waitMs: number,
): Promise<ImportResult> {
  const { epoch, root } = checkDistribution(distribution);
  if (epoch >= (await currentDay(app.db))) throw fail(400, 'epoch must be a day that has ended');
  const id = await app.tx(async (tx) => {
    const stored = await readRules(tx);
    const { pool } = stored.rules;
    if (distribution.total > BigInt(pool))
      throw fail(400, `the total of the distribution must be at most the pool: it is ${distribution.total}, the pool is ${pool}`);
    // Creates the epoch with the rules whose pool was checked above. Otherwise the epoch could get a smaller pool that an operator set after the
    // check.
    if ((await createEpochs(tx, [epoch], 'import', stored)).length === 0) return null;
    return await storeImport(tx, epoch, distribution, root, page);
  });
  const importId = id ?? (await findSameImport(app, epoch, distribution)).id;
  const built = await awaitEpoch(app, epoch, waitMs);
  const row = await readImport(app.db, importId);
  if (row?.state === 'refused') throw fail(400, row.reason ?? 'distribution was refused');
  if (!built) throw fail(409, `a concurrent import of epoch ${epoch} was refused; send the import again`);
  if (built.status === 'computing') return { outcome: 'building', epoch: built };
  if (root !== undefined && built.root !== root.toLowerCase()) throw fail(400, `root must be the root of the distribution, which is ${built.root}`);
  return { outcome: id === null ? 'existing' : 'created', epoch: built };
}

async function storeImport(
  tx: Tx,
  epoch: number,
  { hash, rows, pages }: Distribution,
  root: string | undefined,
  page: (number: number) => Promise<DistributionPage>,
): Promise<string> {
  const id = newId();
  await insertImportRows(tx, { id, epoch, hash, root: root === undefined ? null : Buffer.from(root, 'hex'), rows }, pages, page);
  tx.enqueue(computeEpoch, { epoch });
  return id;
}

/**
 * Returns the import of an epoch if its rows equal the given distribution.
 * @throws 409 when the rows differ or the epoch was computed from points
 */
async function findSameImport(app: App, epoch: number, { hash }: Distribution): Promise<{ id: string }> {
  const existing = await readEpoch(app.db, epoch);
  if (existing?.source === 'computed') throw fail(409, `epoch ${epoch} was computed from points already`);
  const imported = await findAcceptedImport(app.db, epoch);
  if (imported?.hash !== Buffer.from(hash).toString('hex')) throw fail(409, `epoch ${epoch} was imported already, with another distribution`);
  return imported;
}
