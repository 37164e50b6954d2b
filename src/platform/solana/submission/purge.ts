import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';

/** Time after the signing for which the signed bytes of an ended attempt stay stored, days. */
export const BYTES_KEPT_DAYS = 30;
/** Maximum attempts per call. */
const MAX_BATCH_SIZE = 1_000;

const purge = statement<{ count: number }>(
  'purge_attempt_bytes',
  `with due as (
     select transaction_id, n from chain_attempts
     where state in ('finalized', 'failed', 'dead') and bytes <> '' and signed_at < (select app_now()) - interval '${BYTES_KEPT_DAYS} days'
     order by signed_at limit ${MAX_BATCH_SIZE} for update skip locked),
   emptied as (
     update chain_attempts a set bytes = '' from due d where a.transaction_id = d.transaction_id and a.n = d.n returning 1)
   select count(*)::int as count from emptied`,
);

/**
 * Deletes the signed bytes of a batch of old attempts that are finalized, failed or dead. Only live attempts are sent again, so no process needs these bytes.
 * Keeps the rows: the signature of an attempt is the evidence of a payment.
 * @returns whether more bytes may be left
 */
export async function purgeAttemptBytes(tx: Tx): Promise<boolean> {
  return ((await tx.query(purge))[0]?.count ?? 0) === MAX_BATCH_SIZE;
}
