import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { Remote } from '#platform/threads/worker-thread.ts';
import type { Built, BuiltTree, EpochBuilder } from './build/builder.ts';
import { buildFrom } from './build/open.ts';
import { onComputed } from './computed.ts';
import type { EpochSource } from './epochs.ts';
import { decideImport, findBuilding } from './import/rows.ts';
import { storeLeaves, storeTree } from './leaf-store.ts';
import { allocationRules } from './rules.ts';
import { type Page, pagesOfImport, pointsOfDay } from './snapshot.ts';

/** Days without a closing row, because nothing had ever been recorded by then, are taken as closed this much later: by then no writer is left. */
const SURELY_OVER = '10 minutes';

interface Locked {
  source: EpochSource;
  pool: string;
  cap: string | null;
  dust: string;
  settleRequested: boolean;
  closed: boolean;
}

/** Whether the points of an epoch's day `e.epoch` can change no more. */
export const CLOSED = `case when exists (select from closed_periods c where c.period = 'day' and c.bucket = e.epoch) then true
  else app_now() > to_timestamp((e.epoch + 1) * 86400.0) + interval '${SURELY_OVER}' and not exists (select from ledger l where l.day = e.epoch) end`;

// Whoever comes second finds the row locked, and goes: one worker computes an epoch.
const lockEpoch = statement<Locked>(
  'lock_epoch_to_compute',
  `select source, pool::text, cap::text, dust::text, settle_requested_at is not null as "settleRequested",
     ${CLOSED} as closed
   from epochs e where epoch = $1 and state = 'computing' for update of e skip locked`,
);
const finish = statement<{ undistributed: string }>(
  'finish_epoch',
  `update epochs set state = case when $3 > 0 then 'computed' else 'empty' end, wallets = $2, leaves = $3, total = $4::numeric,
     undistributed = pool - $4::numeric, points = $5::int8, root = $6, computed_at = app_now()
   where epoch = $1 returning undistributed::text`,
);
const analyze = { text: 'analyze reward_leaves, reward_trees' };
/** From how many wallets on the planner is told at once that the tables have grown. */
const MANY = 1_000;

/** What one computing of an epoch came to. */
interface Outcome {
  wallets: number;
  leaves: number;
  total: bigint;
}

/**
 * Computes an epoch that is in the state `computing`: amounts, leaves, tree, all in one transaction. Killed anywhere, it has
 * not happened; twice at once, one does it. A day that is not closed yet is left for later.
 */
export async function computeEpoch(app: App, epoch: number): Promise<void> {
  const begin = performance.now();
  const outcome = await app.tx(async (tx): Promise<Outcome | null> => {
    const row = (await tx.query(lockEpoch, [epoch]))[0];
    if (!row) return null;
    if (row.source === 'import') return await computeImport(app, tx, epoch, row);
    if (!row.closed) return null;
    return await buildFrom(pointsOfDay(tx, epoch), async (builder, pages) => {
      const allocated = await builder.allocate(allocationRules(row));
      return await store(tx, { epoch, ...row }, builder, pages, { ...allocated, points: String(allocated.points) });
    });
  });
  if (!outcome) return;
  app.log.info({ epoch, ...outcome, total: String(outcome.total), ms: Math.round(performance.now() - begin) }, 'epoch is computed');
  if (outcome.wallets >= MANY) await app.db.query(analyze).catch((err) => app.log.warn({ err }, 'leaves could not be analyzed'));
}

/** An import whose root is not the one announced is refused whole: its epoch is as if it had never been asked for. */
async function computeImport(app: App, tx: Tx, epoch: number, row: Locked): Promise<Outcome | null> {
  const asked = await findBuilding(tx, epoch);
  if (!asked) throw new Error(`epoch ${epoch} is imported, and its import is gone`);
  return await buildFrom(pagesOfImport(tx, asked.id), async (builder, pages) => {
    const taken = await builder.take();
    // Where a root is expected, it is known before anything is stored.
    const tree = asked.root === null ? undefined : await builder.tree(epoch);
    const root = tree && Buffer.from(tree.root).toString('hex');
    if (asked.root !== null && asked.root !== root) {
      await decideImport(tx, asked.id, { refusedBecause: `root must be that of the distribution, which is ${root}` });
      app.log.warn({ epoch, root }, 'an import is refused: its root is another one');
      return null;
    }
    const stored = await store(tx, { epoch, ...row }, builder, pages, { ...taken, points: null, ...(tree === undefined ? {} : { tree }) });
    await decideImport(tx, asked.id, 'done');
    return stored;
  });
}

/** Stores what was built, and fixes the epoch. */
async function store(
  tx: Tx,
  { epoch, source, settleRequested }: Pick<Locked, 'source' | 'settleRequested'> & { epoch: number },
  builder: Remote<EpochBuilder>,
  pages: readonly Page[],
  built: Built & { points: string | null; tree?: BuiltTree | null },
): Promise<Outcome> {
  const { wallets, leaves, total, points } = built;
  const builtPages = await builder.pages();
  // The database takes the leaves while the tree is built.
  const growing = built.tree === undefined ? builder.tree(epoch) : Promise.resolve(built.tree);
  growing.catch(() => undefined);
  await storeLeaves(tx, epoch, source, pages, builtPages);
  const tree = await growing;
  if (tree) await storeTree(tx, epoch, tree);
  const root = tree && Buffer.from(tree.root);
  const finished = (await tx.query(finish, [epoch, wallets, leaves, String(total), points, root]))[0];
  if (!finished) throw new Error(`epoch ${epoch} is gone`);
  const { undistributed } = finished;
  const state = leaves > 0 ? 'computed' : 'empty';
  await onComputed(tx, { epoch, state, leaves, total: String(total), undistributed, root: root?.toString('hex') ?? null, settleRequested });
  return { wallets, leaves, total };
}
