import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { PENDING_DAYS } from './engagement/pending-engagement.ts';
import { RELINK_COOLDOWN_DAYS } from './link.ts';

/** Maximum rows that one call deletes per table. */
const MAX_BATCH_SIZE = 2_000;

const purgeStatement = (name: string, table: string, before: string) =>
  statement<{ count: number }>(
    name,
    `with deleted as (
       delete from ${table} where ctid = any(array(
         select ctid from ${table} where ${before} limit ${MAX_BATCH_SIZE} for update skip locked)) returning 1)
     select count(*)::int as count from deleted`,
  );
const STATEMENTS = [
  purgeStatement('purge_link_attempts', 'link_attempts', 'expires_at <= (select app_now())'),
  purgeStatement('purge_kept_engagements', 'kept_engagements', `at <= (select app_now()) - interval '${PENDING_DAYS} days'`),
  purgeStatement('purge_unlinked_accounts', 'unlinked_accounts', `unlinked_at <= (select app_now()) - interval '${RELINK_COOLDOWN_DAYS} days'`),
];

/**
 * Deletes one batch each of expired link attempts, expired pending engagements, and unlinked accounts whose cooldown is over. Other queries ignore
 * expired rows, so this only frees space.
 * @returns whether more expired rows may exist
 */
export async function purgeExpiredSocial(tx: Tx): Promise<boolean> {
  let more = false;
  for (const one of STATEMENTS) more = ((await tx.query(one))[0]?.count ?? 0) === MAX_BATCH_SIZE || more;
  return more;
}
