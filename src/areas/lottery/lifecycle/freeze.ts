import { sql } from 'kysely';
import { advanceRound } from '#jobs/rounds.ts';
import { buildAudit } from '#lib/draw/build.ts';
import { instantOf, millis } from '#lib/draw/bytes.ts';
import type { SignedClosed } from '#lib/draw/statements.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { type LockedRound, lockRound } from '../entries.ts';
import { roundClosed, roundVoid } from '../events.ts';
import { stateClosed } from '../receipts.ts';
import { build } from '../rows.ts';

/** Maximum wait after the closing time for tickets that are still being checked, seconds. A payment is finalized some seconds after its block. */
const SETTLING_SEC = 60;

const isSettling = statement<{ one: number }>(
  'has_tickets_to_settle',
  `select 1 as one from tickets t join rounds r on r.id = t.round
   where t.round = $1 and t.state = 'checking' and t.broken_rule is null and t.asked_at < r.closes_at and (select app_now()) < r.closes_at + interval '${SETTLING_SEC} seconds' limit 1`,
);

/**
 * Closes a round: freezes its entries permanently, or voids the round when it has no entries. The lock on the round's row keeps out concurrent
 * entries.
 * @param when time of the closing. `now`: immediately. `due`: after the closing time, when all tickets that were requested in time are decided or the
 * maximum wait (`SETTLING_SEC`) is over
 * @returns whether this call has closed the round
 */
export async function closeRound(app: App, tx: Tx, id: string, when: 'now' | 'due' = 'now'): Promise<boolean> {
  const round = await lockRound(tx, id);
  if (round?.state !== 'active' || (when === 'due' && round.now < round.closesAt)) return false;
  if (when === 'due' && round.kind === 'legacy' && (await tx.query(isSettling, [id])).length > 0) return false;
  const { kind, entries, parameters, parametersHash } = round;
  const closedAt = closingTimeOf(round);
  const summary = { count: entries, runningHash: round.runningHash.toString('hex') };
  const closed = stateClosed(app, { draws: parameters.draws, round: id, parametersHash }, { closedAt, ...summary });
  if (entries === 0) {
    await voidRound(tx, round, closed);
    return true;
  }
  const closing = { state: 'closing', closed_at: closedAt, closed, look_at: sql<string>`app_now()` } as const;
  await run(tx, build.updateTable('rounds').set(closing).where('id', '=', id));
  tx.emit(roundClosed, { roundId: id, kind, entries, closed });
  tx.enqueue(advanceRound, { round: id, kind });
  return true;
}

/** Returns the time at which a locked round closes. A chat round closes exactly at its closing time; the creator of a legacy round may close it early. */
function closingTimeOf({ kind, parameters, now, closesAt, lastEntryAt }: LockedRound): string {
  return instantOf(kind === 'chat' ? closesAt : Math.max(Math.min(now, closesAt), lastEntryAt ?? millis(parameters.opensAt)));
}

/** Voids a round that closes without entries. Precondition: the transaction has locked the round's row. */
async function voidRound(tx: Tx, { id, kind, parameters, announcement }: LockedRound, closed: SignedClosed): Promise<void> {
  const { count, runningHash } = closed.statement;
  const facts = { parameters, announcement, closed, entries: { count, root: null, runningHash }, commitment: null, beacon: null };
  const audit = JSON.stringify(buildAudit({ ...facts, void: 'no-entries' }, null));
  const ended = {
    state: 'void',
    void_reason: 'no-entries',
    audit,
    closed,
    closed_at: closed.statement.closedAt,
    ended_at: sql<string>`app_now()`,
  } as const;
  await run(tx, build.updateTable('rounds').set(ended).where('id', '=', id));
  tx.emit(roundVoid, { roundId: id, kind, reason: 'no-entries', closed });
}
