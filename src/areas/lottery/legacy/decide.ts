import { sql } from 'kysely';
import { createPayments } from '#areas/payouts';
import { unavailable } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { RefundRow } from '../entities.ts';
import { appendEntries, type LockedRound, lockRound, takesEntries } from '../entries.ts';
import { ticketConfirmed, ticketRefused } from '../events.ts';
import { paymentRestriction } from '../restrictions/restrictions.ts';
import { build } from '../rows.ts';
import type { PaymentEvaluation, Refund } from './payment.ts';
import { MAX_TICKETS } from './schemas.ts';

/** A ticket whose transaction is being checked. */
export interface CheckingTicket {
  readonly id: string;
  readonly round: string;
  readonly wallet: string;
  readonly signature: string;
  /** The entry rule or restriction that refused the wallet when it requested the ticket; null when there was none. */
  readonly brokenRule: string | null;
}

// A transaction that needs the round and the ticket locks the round first, so that two transactions do not deadlock.
const lockChecking = statement<{ id: string }>(
  'lock_checking_ticket',
  `select id::text from tickets where id = $1 and state = 'checking' for update`,
);
const decide = (id: string) => build.updateTable('tickets').set('decided_at', sql`app_now()`).where('id', '=', id);
const refuse = ({ id, brokenRule }: CheckingTicket, reason: string, found: boolean, refunds: readonly RefundRow[]) =>
  decide(id).set({ state: 'refused', reason, found, broken_rule: brokenRule, refunds: sql<RefundRow[]>`${JSON.stringify(refunds)}` });

/**
 * Returns the reason why a locked round cannot take a ticket; null when the round can take it. A payment that was made before the closing time is
 * accepted until the round is frozen.
 * @param paidAt time of the payment; null for a free ticket
 */
export function refusalReason(round: LockedRound, paidAt: string | null): string | null {
  const isOpen = paidAt === null ? takesEntries(round) : round.state === 'active' && Date.parse(paidAt) < round.closesAt;
  if (!isOpen) return 'the round is closed';
  const { parameters } = round;
  if (parameters.kind !== 'legacy') return 'the round has no tickets';
  const max = Math.min(parameters.maxTickets ?? MAX_TICKETS, MAX_TICKETS);
  return round.entries >= max ? `all ${max} tickets of the round are taken` : null;
}

/**
 * Accepts a ticket as an entry, or refuses it and creates its refunds, in one database transaction. Idempotent. The payment must be made before
 * the round's closing time and be finalized before the round is frozen, the wallet must have met the entry rules when it requested the ticket, and the
 * restrictions of paid rounds must allow the wallet still.
 * @throws 503 while the configured deny list was never loaded
 */
export async function decideTicket(
  app: App,
  ticket: CheckingTicket,
  evaluation: Exclude<PaymentEvaluation, { verdict: 'unavailable' }>,
): Promise<void> {
  await app.tx(async (tx) => {
    const round = evaluation.verdict === 'valid' && ticket.brokenRule === null ? await lockRound(tx, ticket.round) : null;
    if ((await tx.query(lockChecking, [ticket.id])).length === 0) return;
    if (evaluation.verdict === 'invalid') return await refuseAndRefund(app, tx, ticket, evaluation.reason, evaluation.refunds);
    if (ticket.brokenRule !== null) return await refuseAndRefund(app, tx, ticket, ticket.brokenRule, evaluation.refunds);
    const full = round === null ? 'the round is not open' : refusalReason(round, evaluation.at);
    if (round === null || full !== null) return await refuseAndRefund(app, tx, ticket, full ?? '', evaluation.refunds);
    const restriction = await paymentRestriction(app, tx, ticket.wallet);
    // The sweep checks the ticket again. When the round closes first, the payment is refunded.
    if (restriction?.status === 503) throw unavailable(restriction.error);
    if (restriction) return await refuseAndRefund(app, tx, { ...ticket, brokenRule: restriction.error }, restriction.error, evaluation.refunds);
    const { id, wallet, signature } = ticket;
    const [entry] = await appendEntries(tx, round, [{ id, wallet, numbers: [], source: 'chain', messageId: signature }]);
    if (!entry) throw new Error('the entry of an accepted ticket is missing');
    await run(tx, decide(id).set({ state: 'confirmed', found: true }));
    tx.emit(ticketConfirmed, { roundId: round.id, ticketId: id, ticketNumber: entry.index, signature }, wallet);
  });
}

async function refuseAndRefund(app: App, tx: Tx, ticket: CheckingTicket, reason: string, paid: readonly Refund[]): Promise<void> {
  const { id, round, wallet, signature } = ticket;
  const requests = paid.map(({ currency, amount, cause }) => ({ wallet, currency, amount, cause: { kind: 'refund', id: cause } }));
  const owed = await createPayments(app, tx, requests);
  const refunds = paid.flatMap(({ currency, amount }, i): RefundRow[] => {
    const payment = owed[i]?.id;
    return payment === undefined ? [] : [{ payment, currency, amount: String(amount) }];
  });
  await run(tx, refuse(ticket, reason, true, refunds));
  tx.emit(ticketRefused, { roundId: round, ticketId: id, signature, reason, refund: refunds[0]?.amount ?? null }, wallet);
}

/** Refuses a ticket whose transaction cannot be found or read. The wallet can request the ticket again. */
export async function abandonTicket(app: App, ticket: CheckingTicket, reason: string): Promise<void> {
  const { id, round, wallet, signature } = ticket;
  await app.tx(async (tx) => {
    if ((await tx.query(lockChecking, [id])).length === 0) return;
    await run(tx, refuse(ticket, reason, false, []));
    tx.emit(ticketRefused, { roundId: round, ticketId: id, signature, reason, refund: null }, wallet);
  });
}
