import { run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { build } from './rows.ts';

/** Selects the pause of a scope (a group of transaction types). Returns no row when the scope is not paused. */
export const selectPause = statement<{ reason: string }>('select_chain_pause', 'select reason from chain_pauses where scope = $1');

// This statement makes the paused transactions of all scopes due, also of scopes that are still paused. This is harmless, because signTransaction
// postpones the transactions of a paused scope again.
const requeuePaused = statement(
  'requeue_paused_transactions',
  `update chain_transactions set next_at = app_now() where state = 'queued' and error->>'name' = 'Paused'`,
);

/** Stops the signing of transactions in a scope. Pending attempts are still polled and settled. */
export async function pause(tx: Tx, scope: string, reason: string): Promise<void> {
  const insert = build.insertInto('chain_pauses').values({ scope, reason });
  const upsert = insert.onConflict((conflict) => conflict.column('scope').doUpdateSet({ reason }));
  await run(tx, upsert);
}

/**
 * Allows the signing of transactions in a scope again, and makes the paused transactions due.
 * @returns false when the scope was not paused
 */
export async function resume(tx: Tx, scope: string): Promise<boolean> {
  const removed = await run(tx, build.deleteFrom('chain_pauses').where('scope', '=', scope).returning('scope'));
  if (removed.length === 0) return false;
  await tx.query(requeuePaused);
  return true;
}
