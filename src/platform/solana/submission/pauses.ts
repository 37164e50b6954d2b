import { run } from '#platform/db/query-builder.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { build } from './rows.ts';

/** Scope that contains all transaction types. */
export const EVERYTHING = 'everything';

/**
 * Selects the pause of a scope (a group of transaction types), or the pause of all transaction types, which comes first. Returns no row when the scope
 * is not paused.
 */
export const selectPause = statement<{ reason: string }>(
  'select_chain_pause',
  `select reason from chain_pauses where scope in ($1, '${EVERYTHING}') order by scope <> '${EVERYTHING}'`,
);

/** Scope of the pause that a contradiction of the RPC nodes causes for one transaction type. Only an operator ends it. */
export const contradictionScope = (type: string) => `${CONTRADICTION}${type}`;
const CONTRADICTION = 'contradiction:';

/** Selects the pause that stops the signing of a transaction type ($2): of its scope ($1), of a contradiction, or of all types, which comes first. */
export const selectPauseOfType = statement<{ reason: string }>(
  'select_pause_of_type',
  `select reason from chain_pauses where scope in ($1, '${CONTRADICTION}' || $2::text, '${EVERYTHING}') order by scope <> '${EVERYTHING}', scope`,
);

/** Returns whether a type is stopped because the RPC nodes contradict each other about one of its transactions. */
export const isContradicted = async (db: Queryable, type: string): Promise<boolean> =>
  (await run(db, build.selectFrom('chain_pauses').select('scope').where('scope', '=', contradictionScope(type)))).length > 0;

/** The types that are paused because the RPC nodes contradict each other. */
export const selectContradictions = statement<{ kind: string; reason: string; at: string }>(
  'select_contradictions',
  `select substr(scope, ${CONTRADICTION.length + 1}) as kind, reason, to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at
   from chain_pauses where scope like '${CONTRADICTION}%' order by scope limit 50`,
);

// This statement makes the paused transactions of all scopes due, also of scopes that are still paused. This is harmless, because signing
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

/** Pauses a scope that is not paused yet. @returns false when the scope was paused already, which leaves its reason unchanged */
export async function pauseOnce(tx: Tx, scope: string, reason: string): Promise<boolean> {
  const insert = build.insertInto('chain_pauses').values({ scope, reason });
  const added = await run(tx, insert.onConflict((conflict) => conflict.column('scope').doNothing()).returning('scope'));
  return added.length > 0;
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
