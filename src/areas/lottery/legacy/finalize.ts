import type { z } from 'zod';
import { readPaymentsByCause } from '#areas/payouts';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { lockRound, takesEntries } from '../entries.ts';
import { closeRound } from '../lifecycle/freeze.ts';
import { type RoundRow, readRound } from '../rows.ts';
import { prizePool, readWinners } from './present.ts';
import type { LegacyResult } from './schemas.ts';

/**
 * Closes an active round. A round that is closed already stays unchanged.
 * @throws 404 when the round does not exist; 403 when the round still takes tickets and another wallet created it
 */
export async function requestFinalization(app: App, tx: Tx, id: string, wallet: string): Promise<void> {
  const row = await readRound(tx, id, 'legacy');
  if (!row) throw fail(404, 'the round does not exist');
  if (row.state !== 'active') return;
  const round = await lockRound(tx, id);
  if (round?.state !== 'active') return;
  if (takesEntries(round) && row.createdBy !== wallet) throw fail(403, 'only the creator can finalize the round before its closing time');
  await closeRound(app, tx, id);
}

/**
 * Returns the result of an ended round: the winner of a drawn round and the status of the prize's payment, or the reason why the round is void.
 * Precondition: the round is finalized or void.
 */
export async function readResult(app: App, row: RoundRow): Promise<z.input<typeof LegacyResult>> {
  if (row.state === 'void') {
    return { status: 'void', voidReason: row.voidReason, winningTicket: null, winner: null, prizePool: '0', payout: null };
  }
  const cause = `${row.id}:1`;
  const [winners, payments] = await Promise.all([readWinners(app.db, [row.id]), readPaymentsByCause(app.db, 'prize', [cause])]);
  const winner = winners.get(row.id);
  if (!winner) throw new Error(`round ${row.id} is finalized, but has no winner`);
  const payment = payments.get(cause);
  return {
    status: 'finalized',
    voidReason: null,
    winningTicket: winner.index,
    winner: winner.wallet,
    prizePool: prizePool(row),
    payout: payment ? { paymentId: payment.id, status: payment.status, signature: payment.signature } : null,
  };
}
