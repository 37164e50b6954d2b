import { advanceRound } from '#jobs/rounds.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { lockRound } from '../entries.ts';
import { roundClosed } from '../events.ts';
import { undrawnAudit } from './pending-audit.ts';
import { voidUncommitted } from './void.ts';

const close = statement(
  'close_round',
  `update rounds set state = 'closing', closed_at = app_now(), look_at = app_now() where id = $1 and state = 'active'`,
);

/** A payment is final some seconds after its block: so long after its time a round waits for tickets that were named before it, s. */
const SETTLING_SEC = 60;

const isSettling = statement<{ one: number }>(
  'has_tickets_to_settle',
  `select 1 as one from tickets t join rounds r on r.id = t.round
   where t.round = $1 and t.state = 'checking' and t.asked_at < r.closes_at and app_now() < r.closes_at + interval '${SETTLING_SEC} seconds' limit 1`,
);

/**
 * Freezes a round's entries, for ever, under the lock that entries are accepted under; where there are none it is void.
 * @param when `due`: only after its time, and when what was paid in time has become final, or has had a minute for it
 * @returns whether this has closed it
 */
export async function closeRound(tx: Tx, id: string, when: 'now' | 'due' = 'now'): Promise<boolean> {
  const round = await lockRound(tx, id);
  if (round?.state !== 'active' || (when === 'due' && round.now < round.closesAt)) return false;
  if (when === 'due' && round.kind === 'legacy' && (await tx.query(isSettling, [id])).length > 0) return false;
  const { kind, entries, parameters } = round;
  if (entries === 0) {
    await voidUncommitted(tx, round, 'no-entries', undrawnAudit({ parameters, entries, root: null }, null, 'no-entries'));
    return true;
  }
  await tx.query(close, [id]);
  tx.emit(roundClosed, { roundId: id, kind, entries });
  tx.enqueue(advanceRound, { round: id });
  return true;
}
