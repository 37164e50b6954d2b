import { sql } from 'kysely';
import { advanceRound } from '#jobs/rounds.ts';
import { run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { lockRound } from '../entries.ts';
import { roundClosed } from '../events.ts';
import { build } from '../rows.ts';
import { pendingAuditText } from './pending-audit.ts';
import { voidUncommitted } from './void.ts';

/** Maximum wait after the closing time for tickets that are still being checked, seconds. A payment is finalized some seconds after its block. */
const SETTLING_SEC = 60;

const isSettling = statement<{ one: number }>(
  'has_tickets_to_settle',
  `select 1 as one from tickets t join rounds r on r.id = t.round
   where t.round = $1 and t.state = 'checking' and t.asked_at < r.closes_at and app_now() < r.closes_at + interval '${SETTLING_SEC} seconds' limit 1`,
);

/**
 * Closes a round: freezes its entries permanently, or voids the round when it has no entries. The lock on the round's row keeps out concurrent
 * entries.
 * @param when time of the closing. `now`: immediately. `due`: after the closing time, when all tickets that were requested in time are decided or the
 * maximum wait (`SETTLING_SEC`) is over
 * @returns whether this call has closed the round
 */
export async function closeRound(tx: Tx, id: string, when: 'now' | 'due' = 'now'): Promise<boolean> {
  const round = await lockRound(tx, id);
  if (round?.state !== 'active' || (when === 'due' && round.now < round.closesAt)) return false;
  if (when === 'due' && round.kind === 'legacy' && (await tx.query(isSettling, [id])).length > 0) return false;
  const { kind, entries, parameters } = round;
  if (entries === 0) {
    await voidUncommitted(tx, round, 'no-entries', pendingAuditText({ parameters, entries, root: null }, null, 'no-entries'));
    return true;
  }
  const closing = { state: 'closing', closed_at: sql<string>`app_now()`, look_at: sql<string>`app_now()` } as const;
  await run(tx, build.updateTable('rounds').set(closing).where('id', '=', id).where('state', '=', 'active'));
  tx.emit(roundClosed, { roundId: id, kind, entries });
  tx.enqueue(advanceRound, { round: id });
  return true;
}
