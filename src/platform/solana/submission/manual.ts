import { fail } from '#lib/errors.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { signTransaction } from './jobs.ts';
import { type ListedTransaction, readTransaction } from './listing.ts';
import type { TransactionRow } from './rows.ts';

const lock = statement<{ state: TransactionRow['state']; reason: string | null }>(
  'lock_transaction_to_retry',
  `select state, error->>'message' as reason from chain_transactions where id = $1 for update`,
);
const standing = statement<{ signature: string; state: string }>(
  'find_attempt_not_over',
  `select signature, state from chain_attempts where transaction_id = $1 and state not in ('dead', 'failed') limit 1`,
);
const again = statement(
  'retry_manual_transaction',
  `update chain_transactions set state = 'queued', tries = 0, refusals = 0, next_at = app_now(), changed_at = app_now(), error = null where id = $1`,
);

/**
 * Has a transaction composed again that composing has set aside. Where its cause stands, it is set aside again. What waits already, waits:
 * the same again is no error.
 *
 * No kind can happen twice by this. Claims are guarded by the bitmap; roots, ends of epochs and lanes by their accounts; batches, and what gives
 * them up, by the nonce that is theirs. Nothing on the chain guards commitments: composing one reads what the committer's key has signed since
 * the last on record, and no attempt of its own may be undecided, which is refused here for all.
 * @throws 404; 409 while an attempt may have landed, and in any other state
 */
export async function retryManual(tx: Tx, id: string): Promise<ListedTransaction> {
  const row = (await tx.query(lock, [id]))[0];
  if (!row) throw fail(404, 'no such transaction');
  if (row.state !== 'manual' && row.state !== 'queued') throw fail(409, `the transaction is ${row.state}: only what was set aside is tried again`);
  if (row.state === 'manual') {
    const attempt = (await tx.query(standing, [id]))[0];
    if (attempt) {
      throw fail(409, `the transaction may have landed: attempt ${attempt.signature} is ${attempt.state}, and not proven dead: ${row.reason}`);
    }
    await tx.query(again, [id]);
    tx.enqueue(signTransaction, { id });
  }
  const listed = await readTransaction(tx, id);
  if (!listed) throw new Error('a transaction that is locked is not there');
  return listed;
}
