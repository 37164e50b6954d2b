import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { KEPT_DAYS } from './engagement/pending-engagement.ts';
import { REST_DAYS } from './link.ts';

/** How many rows one call removes from each table, at most. */
const BATCH = 2_000;

const expired = (name: string, table: string, before: string) =>
  statement<{ count: number }>(
    name,
    `with gone as (
       delete from ${table} where ctid = any(array(
         select ctid from ${table} where ${before} limit ${BATCH} for update skip locked)) returning 1)
     select count(*)::int as count from gone`,
  );
const STATEMENTS = [
  expired('expire_link_attempts', 'link_attempts', 'expires_at <= (select app_now())'),
  expired('expire_kept_engagements', 'kept_engagements', `at <= (select app_now()) - interval '${KEPT_DAYS} days'`),
  expired('expire_unlinked_accounts', 'unlinked_accounts', `unlinked_at <= (select app_now()) - interval '${REST_DAYS} days'`),
];

/**
 * Removes attempts that have ended, what was kept of accounts for too long, and what was noted of accounts that any wallet may link again: a
 * bounded batch of each. Nothing depends on it. Returns whether there may be more.
 */
export async function expireSocial(tx: Tx): Promise<boolean> {
  let more = false;
  for (const one of STATEMENTS) more = ((await tx.query(one))[0]?.count ?? 0) === BATCH || more;
  return more;
}
