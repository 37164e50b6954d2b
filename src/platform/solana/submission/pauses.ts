import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';

/** Selects the pause of a scope (a group of transaction types). Returns no row when the scope is not paused. */
export const selectPause = statement<{ reason: string }>('select_chain_pause', 'select reason from chain_pauses where scope = $1');

const insert = statement(
  'insert_chain_pause',
  'insert into chain_pauses (scope, reason) values ($1, $2) on conflict (scope) do update set reason = excluded.reason',
);
const remove = statement<{ scope: string }>('delete_chain_pause', 'delete from chain_pauses where scope = $1 returning scope');
// This statement makes the paused transactions of all scopes due, also of scopes that are still paused. This is harmless, because signTransaction
// postpones the transactions of a paused scope again.
const requeuePaused = statement(
  'requeue_paused_transactions',
  `update chain_transactions set next_at = app_now() where state = 'queued' and error->>'name' = 'Paused'`,
);

/** Stops the signing of transactions in a scope. Pending attempts are still polled and settled. */
export async function pause(tx: Tx, scope: string, reason: string): Promise<void> {
  await tx.query(insert, [scope, reason]);
}

/**
 * Allows the signing of transactions in a scope again, and makes the paused transactions due.
 * @returns false when the scope was not paused
 */
export async function resume(tx: Tx, scope: string): Promise<boolean> {
  if ((await tx.query(remove, [scope])).length === 0) return false;
  await tx.query(requeuePaused);
  return true;
}
