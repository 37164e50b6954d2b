import { sql } from 'kysely';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { Progress } from '#platform/jobs/job.ts';
import type { Remote } from '#platform/threads/worker-thread.ts';
import type { BuildResult, BuiltTree, EpochBuilder } from '../build/builder.ts';
import { buildFromPages } from '../build/open.ts';
import { closeImport, findBuildingImport } from '../import/rows.ts';
import { checkImportedWallets } from '../import/unclaimable.ts';
import { build } from '../query-builder.ts';
import { storeReplaced } from '../review/allocations.ts';
import { applyBans, applyGates, selectExcluded } from '../review/exclusions.ts';
import type { Gates } from '../review/gates.ts';
import { allocationRules } from '../rules.ts';
import type { EpochSource } from './epochs.ts';
import { type AllocationKey, storeLeaves, storeTree } from './leaf-store.ts';
import { onComputed } from './on-computed.ts';
import { type EpochRules, savePointsFile, storePointsFile } from './points-file.ts';
import { pagesOfImport, pointsOfDay, type WalletPage } from './snapshot.ts';

/**
 * Minimum time between the end of a day without points and the moment at which the day counts as closed. After this time, no database transaction can
 * add points to the day. The table `closed_periods` has no row for a day without points.
 */
const EMPTY_DAY_GRACE = '10 minutes';

interface EpochToCompute extends EpochRules, Gates {
  source: EpochSource;
  /** Number of the allocation to compute, from 1. */
  allocation: number;
  settleRequested: boolean;
  /** Whether the points file is stored already. */
  hasPointsFile: boolean;
  closed: boolean;
}

/** SQL expression: whether the points of the day `e.epoch` are final. */
export const IS_DAY_CLOSED = `case when exists (select from closed_periods c where c.period = 'day' and c.bucket = e.epoch) then true
  else (select app_now()) > to_timestamp((e.epoch + 1) * 86400.0) + interval '${EMPTY_DAY_GRACE}' and not exists (select from ledger l where l.day = e.epoch) end`;

// With `skip locked`, a second worker finds no row and stops. So only one worker computes an epoch at a time. The allocation is computed anew while the
// exclusions have changes that the allocation in force does not include.
const lockEpoch = statement<EpochToCompute>(
  'lock_epoch_to_compute',
  `select source, pool::text, cap::text, dust::text, formula as "formulaVersion", rules_version as "rulesVersion",
     settle_requested_at is not null as "settleRequested", points_hash is not null as "hasPointsFile",
     min_play_days as "minPlayDays", min_accepted_scores as "minAcceptedScores",
     case when state = 'computing' then allocation else allocation + 1 end as allocation, ${IS_DAY_CLOSED} as closed
   from epochs e where epoch = $1 and (state = 'computing' or state in ('computed', 'empty') and exclusions_changed_at is not null)
   for update of e skip locked`,
);
const analyze = { text: 'select analyze_rewards()' };
/**
 * Minimum number of wallets of a computed epoch for which `analyze` runs at once. The command `analyze` updates the table statistics, so that
 * PostgreSQL chooses good query plans for the larger tables.
 */
const ANALYZE_FROM_WALLETS = 1_000;

/** Progress of the computation after its steps, percent. */
const PROGRESS = { checked: 5, allocated: 40, leavesStored: 85 };

/** The number of wallets and leaves of a computed epoch, and the sum of its amounts in base units. */
interface ComputeResult {
  wallets: number;
  leaves: number;
  total: bigint;
}

/**
 * Computes and stores the amounts, the leaves, the Merkle tree and the points file of an epoch in the state `computing`, or of an epoch whose exclusions
 * changed; the points file is stored once. Does nothing while the day is not closed. One database transaction stores all data except the file, so a crash
 * stores nothing else. If two workers call this function at the same time, only one of them computes the epoch.
 */
export async function computeEpoch(app: App, epoch: number, progress: Progress = () => undefined): Promise<void> {
  const begin = performance.now();
  await checkImportedWallets(app, epoch);
  progress(PROGRESS.checked);
  const result = await app.tx(async (tx): Promise<ComputeResult | null> => {
    const row = (await tx.query(lockEpoch, [epoch]))[0];
    if (!row) return null;
    if (row.source === 'import') return await computeImport(app, tx, epoch, row, progress);
    if (!row.closed) return null;
    const { allocation } = row;
    if (allocation === 1) await applyGates(tx, epoch, row);
    else await storeReplaced(tx, epoch);
    await applyBans(tx, epoch, allocation);
    // Uses a second connection, so that the file is stored while the amounts are computed.
    const storing = row.hasPointsFile ? null : storePointsFile(app, epoch, row);
    storing?.catch(() => undefined);
    try {
      const stored = await buildFromPages(pointsOfDay(tx, epoch, selectExcluded(epoch, allocation)), async (builder, pages) => {
        const allocated = await builder.allocate(allocationRules(row));
        const reviewHours = allocation === 1 ? app.config.reviewHours : null;
        return await storeEpoch(tx, { epoch, reviewHours, ...row }, builder, pages, { ...allocated, points: String(allocated.points) }, progress);
      });
      if (storing) await savePointsFile(tx, epoch, storing);
      return stored;
    } finally {
      await Promise.allSettled([storing]);
    }
  });
  if (!result) return;
  app.log.info({ epoch, ...result, total: String(result.total), ms: Math.round(performance.now() - begin) }, 'an epoch is computed');
  if (result.wallets >= ANALYZE_FROM_WALLETS)
    await app.db.query(analyze).catch((err) => app.log.warn({ err }, 'analyze of the reward tables failed; autovacuum analyzes the tables later'));
}

/** Computes an imported epoch. If the root of its tree differs from the announced root, refuses the import, deletes the epoch and returns null. */
async function computeImport(app: App, tx: Tx, epoch: number, row: EpochToCompute, progress: Progress): Promise<ComputeResult | null> {
  const imported = await findBuildingImport(tx, epoch);
  if (!imported) throw new Error(`epoch ${epoch} is imported, but its import row does not exist`);
  return await buildFromPages(pagesOfImport(tx, imported.id), async (builder, pages) => {
    const sums = await builder.useValuesAsAmounts();
    // If the caller announced a root, the tree is built and its root is compared before any leaf is stored.
    const tree = imported.root === null ? undefined : await builder.tree(epoch);
    const root = tree && Buffer.from(tree.root).toString('hex');
    if (imported.root !== null && imported.root !== root) {
      await closeImport(tx, imported.id, { refusedBecause: `root must be the root of the distribution, which is ${root}` });
      app.log.warn({ epoch, root }, 'an import is refused because the announced root differs from the computed root');
      return null;
    }
    const stored = await storeEpoch(
      tx,
      { epoch, reviewHours: null, ...row },
      builder,
      pages,
      {
        ...sums,
        points: null,
        ...(tree === undefined ? {} : { tree }),
      },
      progress,
    );
    await closeImport(tx, imported.id, 'done');
    return stored;
  });
}

interface EpochToStore extends AllocationKey, Pick<EpochToCompute, 'source' | 'pool' | 'settleRequested'> {
  /** Duration of the review that begins with this allocation, hours; null when the allocation begins no review. */
  readonly reviewHours: number | null;
}

/** Stores the leaves and the Merkle tree of an allocation, and sets the state of its epoch to `computed`, or to `empty` when it has no leaves. */
async function storeEpoch(
  tx: Tx,
  { epoch, allocation, source, pool, settleRequested, reviewHours }: EpochToStore,
  builder: Remote<EpochBuilder>,
  pages: readonly WalletPage[],
  built: BuildResult & { points: string | null; tree?: BuiltTree | null },
  progress: Progress,
): Promise<ComputeResult> {
  progress(PROGRESS.allocated);
  const { wallets, leaves, total, points } = built;
  const builtPages = await builder.pages();
  // The builder builds the tree while the database stores the leaves.
  const buildingTree = built.tree === undefined ? builder.tree(epoch) : Promise.resolve(built.tree);
  buildingTree.catch(() => undefined);
  await storeLeaves(tx, { epoch, allocation }, source, pages, builtPages, (share) =>
    progress(PROGRESS.allocated + share * (PROGRESS.leavesStored - PROGRESS.allocated)),
  );
  const tree = await buildingTree;
  if (tree) await storeTree(tx, { epoch, allocation }, tree);
  const root = tree && Buffer.from(tree.root);
  const state = leaves > 0 ? 'computed' : 'empty';
  const undistributed = String(BigInt(pool) - total);
  const sums = { wallets, leaves, points, total: String(total), undistributed };
  const review = reviewHours === null ? {} : { review_ends_at: sql<string>`app_now() + make_interval(hours => ${reviewHours}::int)` };
  const finish = build
    .updateTable('epochs')
    .set({ state, root, ...sums, allocation, computed_at: sql`app_now()`, exclusions_changed_at: null, ...review })
    .where('epoch', '=', epoch)
    .returning('epoch');
  if ((await run(tx, finish)).length === 0) throw new Error(`epoch ${epoch} does not exist any more`);
  await onComputed(tx, {
    epoch,
    allocation,
    state,
    leaves,
    total: String(total),
    undistributed,
    root: root?.toString('hex') ?? null,
    settleRequested,
  });
  return { wallets, leaves, total };
}
