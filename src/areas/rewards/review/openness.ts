import { fail } from '#lib/errors.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';

/**
 * SQL condition for an epoch `e` whose exclusions can change, if no transaction with its root was signed. An epoch that has no leaves because wallets
 * are excluded can change at any time, because its root is never signed.
 */
export const MAY_CHANGE = `e.source = 'computed' and e.settle_requested_at is null
  and (e.state = 'computed' or e.state = 'empty' and (e.review_ends_at > (select app_now())
    or exists (select from reward_exclusions x where x.epoch = e.epoch and x.cause <> 'rule' and x.to_allocation is null)))`;

interface LockedEpoch {
  source: 'computed' | 'import';
  state: string;
  allocation: number;
  mayChange: boolean;
}
const lockForReview = statement<LockedEpoch>(
  'lock_epoch_to_review',
  `select source, state, allocation, ${MAY_CHANGE} as "mayChange" from epochs e where epoch = $1 for update of e`,
);
const selectSigned = statement<{ signed: boolean }>(
  'select_root_signed',
  `select exists (select from chain_transactions t join chain_attempts a on a.transaction_id = t.id
     where t.kind = 'epoch-root' and t.subject = $1::int::text) as signed`,
);

/** Returns whether a transaction with the root of an epoch was signed. Precondition: the row of the epoch is locked. */
export const isRootSigned = async (tx: Tx, epoch: number): Promise<boolean> => (await tx.query(selectSigned, [epoch]))[0]?.signed ?? false;

/**
 * Locks the row of an epoch whose exclusions can change. Signing a root locks the same row, so either this transaction changes the exclusions first,
 * or the root is signed first and this function throws.
 * @returns the number of the next allocation
 * @throws 404 when the epoch does not exist; 409 when it was imported, is being computed, has no review any more, or its root was signed
 */
export async function lockOpenEpoch(tx: Tx, epoch: number): Promise<number> {
  const row = (await tx.query(lockForReview, [epoch]))[0];
  if (!row) throw fail(404, `epoch ${epoch} does not exist`);
  if (row.source === 'import') throw fail(409, `epoch ${epoch} was imported, so it has no review`);
  if (row.state === 'computing') throw fail(409, `epoch ${epoch} is still being computed`);
  // Read after the lock: a statement that waits for a lock sees other tables as they were before.
  if (await isRootSigned(tx, epoch)) throw fail(409, `the transaction with the root of epoch ${epoch} was signed already`);
  if (!row.mayChange) throw fail(409, `epoch ${epoch} is ${row.state} or being settled off-chain, so its allocation does not change any more`);
  return row.allocation + 1;
}
