import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';

const insert = statement(
  'insert_chain_pause',
  'insert into chain_pauses (scope, reason) values ($1, $2) on conflict (scope) do update set reason = excluded.reason',
);
const remove = statement<{ scope: string }>('delete_chain_pause', 'delete from chain_pauses where scope = $1 returning scope');
// Of whatever scope: what is still paused is only held again.
const wake = statement(
  'wake_held_transactions',
  `update chain_transactions set next_at = app_now() where state = 'queued' and error->>'name' = 'Paused'`,
);

/** Stops the signing of a scope. What is on its way is followed as before. */
export async function pause(tx: Tx, scope: string, reason: string): Promise<void> {
  await tx.query(insert, [scope, reason]);
}

/** Lets a scope sign again, what was held with it first of all. @returns whether it was paused */
export async function resume(tx: Tx, scope: string): Promise<boolean> {
  if ((await tx.query(remove, [scope])).length === 0) return false;
  await tx.query(wake);
  return true;
}
