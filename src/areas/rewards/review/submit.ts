import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { retry, submit } from '#platform/solana/submission/index.ts';
import { epochRoot } from '../chain/root.ts';

/** Maximum epochs that one call submits. */
const MAX_EPOCHS = 10;

const selectReviewed = statement<{ epoch: number }>(
  'select_reviewed_epochs',
  `select epoch from epochs e
   where state = 'computed' and settle_requested_at is null and exclusions_changed_at is null and coalesce(review_ends_at <= (select app_now()), true)
     and ($1::int[] is null or epoch = any($1::int[]))
     and not exists (select from chain_transactions t where t.kind = 'epoch-root' and t.subject = e.epoch::text
       and (t.state <> 'failed' or exists (select from chain_attempts a where a.transaction_id = t.id)))
   order by epoch limit ${MAX_EPOCHS}`,
);

/**
 * Submits the roots of computed epochs whose review is over. Epochs whose root was submitted before stay unchanged, except that a root that failed
 * before its first attempt is queued again: it failed when all wallets of the epoch were excluded. `expireEpochs` retries the other failed roots.
 * @param epochs null for all epochs
 */
export async function submitReviewed(tx: Tx, epochs: readonly number[] | null): Promise<void> {
  const reviewed = await tx.query(selectReviewed, [epochs]);
  const subjects = reviewed.map(({ epoch }) => String(epoch));
  if (subjects.length === 0) return;
  await submit(tx, epochRoot, subjects);
  await retry(tx, epochRoot, subjects);
}
