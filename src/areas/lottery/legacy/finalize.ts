import type { z } from 'zod';
import { readPayments } from '#areas/payouts';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { lockRound, takesEntries } from '../entries.ts';
import { closeRound } from '../lifecycle/freeze.ts';
import { type RoundRow, readRound } from '../rows.ts';
import { prizePool, readWinner } from './present.ts';
import type { LegacyResult } from './schemas.ts';

/**
 * Closes a round that is active, if the caller may. What is closed goes on by itself.
 * @throws 404 there is no such round; 403 it still takes tickets, and is somebody else's
 */
export async function askToFinalize(tx: Tx, id: string, wallet: string): Promise<void> {
  const row = await readRound(tx, id, 'legacy');
  if (!row) throw fail(404, 'no such round');
  if (row.state !== 'active') return;
  const round = await lockRound(tx, id);
  if (round?.state !== 'active') return;
  if (takesEntries(round) && row.createdBy !== wallet) throw fail(403, 'the round must have closed: before, only its creator finalizes it');
  await closeRound(tx, id);
}

/** Who has won a round that is drawn, and how the payment goes. */
export async function resultOf(app: App, row: RoundRow): Promise<z.input<typeof LegacyResult>> {
  const cause = `${row.id}:1`;
  const [winner, payments] = await Promise.all([readWinner(app.db, row.id), readPayments(app.db, 'prize', [cause])]);
  if (!winner) throw new Error(`round ${row.id} is drawn, and has no winner`);
  const payment = payments.get(cause);
  return {
    winningTicket: winner.index,
    winner: winner.wallet,
    prizePool: prizePool(row),
    payout: payment ? { paymentId: payment.id, status: payment.status, signature: payment.signature } : null,
  };
}
