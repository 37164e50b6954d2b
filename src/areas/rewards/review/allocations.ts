import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';

const insertReplaced = statement(
  'insert_replaced_allocation',
  `insert into reward_allocations (epoch, allocation, root, wallets, points, leaves, total, undistributed, computed_at)
   select epoch, allocation, root, wallets, points, leaves, total, undistributed, computed_at from epochs where epoch = $1`,
);

/** Stores the sums and the root of the allocation in force, because the caller is about to replace this allocation. */
export async function storeReplaced(tx: Tx, epoch: number): Promise<void> {
  await tx.query(insertReplaced, [epoch]);
}

/** An allocation of an epoch: amounts in base units, the root in hex. */
export interface Allocation {
  allocation: number;
  root: string | null;
  wallets: number;
  /** Points of all wallets; null for an import. */
  points: number | null;
  leaves: number;
  total: string;
  undistributed: string;
  computedAt: string;
  /** Number of wallets whose exclusion began, and of wallets whose exclusion ended, with this allocation. */
  excluded: number;
  readmitted: number;
}

const selectAllocations = statement<Allocation>(
  'select_allocations',
  `select a.allocation, encode(a.root, 'hex') as root, a.wallets, a.points::float8 as points, a.leaves, a.total::text as total,
     a.undistributed::text as undistributed, ${instant('a.computed_at')} as "computedAt",
     (select count(distinct wallet)::int from reward_exclusions x where x.epoch = $1 and x.from_allocation = a.allocation) as excluded,
     (select count(distinct wallet)::int from reward_exclusions x where x.epoch = $1 and x.to_allocation = a.allocation) as readmitted
   from (
     select allocation, root, wallets, points, leaves, total, undistributed, computed_at from epochs where epoch = $1 and computed_at is not null
     union all select allocation, root, wallets, points, leaves, total, undistributed, computed_at from reward_allocations where epoch = $1) a
   where $2::int is null or a.allocation = $2::int order by a.allocation limit $3::int offset $4::int`,
);

/** Returns one page of the allocations of an epoch, the first one first. The last allocation is the one in force. */
export const listAllocations = (db: Queryable, epoch: number, { limit, offset }: { limit: number; offset: number }): Promise<Allocation[]> =>
  db.query(selectAllocations, [epoch, null, limit, offset]);

/** Returns one allocation of an epoch, or null. */
export const readAllocation = async (db: Queryable, epoch: number, allocation: number): Promise<Allocation | null> =>
  (await db.query(selectAllocations, [epoch, allocation, 1, 0]))[0] ?? null;
