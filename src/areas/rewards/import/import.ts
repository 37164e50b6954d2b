import { z } from 'zod';
import { computeEpoch } from '#jobs/epochs.ts';
import { fail } from '#lib/errors.ts';
import { newId } from '#lib/ids.ts';
import type { App } from '#platform/app.ts';
import { type Approval, needsApproval, readApproval, requestApproval } from '#platform/auth/approvals.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { readRules, type StoredRules } from '../config.ts';
import { awaitEpoch, createEpochs, currentDay, type Epoch, readEpoch } from '../epochs/epochs.ts';
import { RewardRules } from '../rules.ts';
import { refuseBanned } from './banned.ts';
import { type Distribution, type DistributionPage, MAX_ERRORS } from './distribution.ts';
import { closeImport, findAcceptedImport, findImportApproval, insertImportRows, readImport, startImport } from './rows.ts';
import { isReadAtOnce, refuseUnclaimable } from './unclaimable.ts';

/**
 * The result of an import. `created`: this request created the epoch. `existing`: an earlier request with the same rows created the epoch.
 * `building`: the epoch is still being computed. `waiting`: a second token must approve the import, and the epoch does not exist yet.
 */
export type ImportResult =
  | { readonly outcome: 'created' | 'existing' | 'building'; readonly epoch: Epoch }
  | { readonly outcome: 'waiting'; readonly approval: Approval };

/** The token that requests an import. `isOperator`: whether it is an admin token with the scope money. */
export interface Importer {
  readonly name: string;
  readonly isOperator: boolean;
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
 * @throws 400 when the distribution is invalid, has banned wallets or exceeds the pool or the cap, when the day of the epoch has not ended, or when the root of the
 * distribution is not the announced root; 409 when the epoch exists with another distribution or was computed from points
 */
export async function importDistribution(
  app: App,
  distribution: Distribution,
  page: (number: number) => Promise<DistributionPage>,
  waitMs: number,
  by: Importer,
): Promise<ImportResult> {
  const { epoch, root } = checkDistribution(distribution);
  if (epoch >= (await currentDay(app.db))) throw fail(400, 'epoch must be a day that has ended');
  await refuseUnclaimable(app, distribution, page);
  await refuseBanned(app.db, distribution, page);
  const stored = await app.tx((tx) => storeDistribution(app, tx, distribution, page, by));
  const standing = stored ?? (await findSameImport(app, epoch, distribution));
  if (standing.approval !== null) return { outcome: 'waiting', approval: await readApproval(app.db, standing.approval) };
  const built = await awaitEpoch(app, epoch, waitMs);
  const row = await readImport(app.db, standing.id);
  if (row?.state === 'refused') throw fail(400, row.reason ?? 'distribution was refused');
  if (!built) throw fail(409, `a concurrent import of epoch ${epoch} was refused; send the import again`);
  if (built.status === 'computing') return { outcome: 'building', epoch: built };
  if (root !== undefined && built.root !== root.toLowerCase()) throw fail(400, `root must be the root of the distribution, which is ${built.root}`);
  return { outcome: stored === null ? 'existing' : 'created', epoch: built };
}

/**
 * Stores a distribution, and creates its epoch unless a second token must approve it. Returns null when the epoch or another import of it exists.
 */
async function storeDistribution(
  app: App,
  tx: Tx,
  distribution: Distribution,
  page: (number: number) => Promise<DistributionPage>,
  by: Importer,
): Promise<StandingImport | null> {
  const { epoch } = checkDistribution(distribution);
  await tx.query(lockImports, [epoch]);
  if ((await readEpoch(tx, epoch)) !== null || (await findAcceptedImport(tx, epoch)) !== null) return null;
  const rules = checkLimits(await readRules(tx), distribution, by);
  const id = newId();
  const action = { kind: 'import', amount: distribution.total, by: by.name } as const;
  if (await needsApproval(app, tx, action)) {
    await storeImport(app, tx, { id, state: 'waiting' }, distribution, page);
    const summary = `import of epoch ${epoch}: ${distribution.rows} wallets, ${distribution.total} base units`;
    const approval = await requestApproval(tx, { ...action, summary, payload: { importId: id, epoch, rules } });
    return { id, approval: approval.id };
  }
  // Creates the epoch with the rules whose limits were checked above. Otherwise the epoch could get a smaller pool that an operator set after the
  // check.
  if ((await createEpochs(tx, [epoch], 'import', rules)).length === 0) return null;
  await storeImport(app, tx, { id, state: 'building' }, distribution, page);
  tx.enqueue(computeEpoch, { epoch });
  return { id, approval: null };
}

// Serializes the imports of one epoch, so that the second one finds the first one.
const lockImports = statement('lock_imports_of_epoch', `select pg_advisory_xact_lock(hashtext('import/' || $1::int))`);

/**
 * Returns the rules of an imported epoch. An operator can confirm a distribution above the limits; its epoch then has no cap, and the total as pool.
 * @throws 400 when the distribution exceeds the pool or the cap, and no operator confirms it
 */
function checkLimits(stored: StoredRules, { header, total, largest }: Distribution, { isOperator }: Importer): StoredRules {
  const { pool, cap } = stored.rules;
  const over =
    total > BigInt(pool)
      ? `the total of the distribution must be at most the pool: it is ${total}, the pool is ${pool}`
      : cap !== null && largest > BigInt(cap)
        ? `each amount of the distribution must be at most the cap: the largest is ${largest}, the cap is ${cap}`
        : null;
  if (over === null) return stored;
  if (!isOperator) throw fail(400, `${over}; only an admin token with the scope money can confirm it`);
  if (header?.overLimits !== true) throw fail(400, `${over}; to confirm it, send the header field "overLimits": true`);
  return { ...stored, rules: { ...stored.rules, pool: String(total > BigInt(pool) ? total : pool), cap: null } };
}

/** The approved action of an import. */
const ImportAction = z.object({ importId: z.string(), epoch: z.number(), rules: z.object({ rules: RewardRules, version: z.number() }) });

/**
 * Creates the epoch of an import that a second token approved.
 * @throws 409 when the epoch was created in another way since the request
 */
export async function startApprovedImport(tx: Tx, payload: unknown): Promise<void> {
  const { importId, epoch, rules } = ImportAction.parse(payload);
  await tx.query(lockImports, [epoch]);
  if ((await createEpochs(tx, [epoch], 'import', rules)).length === 0) throw fail(409, `epoch ${epoch} exists already; refuse the import`);
  await startImport(tx, importId);
  tx.enqueue(computeEpoch, { epoch });
}

/** Deletes the rows of an import that was not approved. */
export async function refuseImport(tx: Tx, payload: unknown): Promise<void> {
  await closeImport(tx, ImportAction.parse(payload).importId, { refusedBecause: 'the import was not approved' });
}

async function storeImport(
  app: App,
  tx: Tx,
  { id, state }: { readonly id: string; readonly state: 'waiting' | 'building' },
  distribution: Distribution,
  page: (number: number) => Promise<DistributionPage>,
): Promise<void> {
  const { hash, rows, pages } = distribution;
  const { epoch, root } = checkDistribution(distribution);
  const checked = isReadAtOnce(app, distribution);
  const row = { id, epoch, state, hash, root: root === undefined ? null : Buffer.from(root, 'hex'), rows, checked };
  await insertImportRows(tx, row, pages, page);
}

/**
 * Returns the import of an epoch if its rows equal the given distribution.
 * @throws 409 when the rows differ or the epoch was computed from points
 */
async function findSameImport(app: App, epoch: number, { hash }: Distribution): Promise<StandingImport> {
  const existing = await readEpoch(app.db, epoch);
  if (existing?.source === 'computed') throw fail(409, `epoch ${epoch} was computed from points already`);
  const imported = await findAcceptedImport(app.db, epoch);
  if (imported?.hash !== Buffer.from(hash).toString('hex')) throw fail(409, `epoch ${epoch} was imported already, with another distribution`);
  return { id: imported.id, approval: imported.state === 'waiting' ? await findImportApproval(app.db, imported.id) : null };
}

/** An import of an epoch that was not refused. `approval` is the id of the approval for which it waits; null when it does not wait. */
interface StandingImport {
  readonly id: string;
  readonly approval: string | null;
}
