import { owe } from '#areas/payouts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { appendEntries, type LockedRound, lockRound, takesEntries } from '../entries.ts';
import { ticketConfirmed, ticketRefused } from '../events.ts';
import type { Judgement, PaidBack } from './payment.ts';
import type { RefundRow } from './rows.ts';
import { MOST_TICKETS } from './schemas.ts';

/** A ticket that is being checked. */
export interface Checking {
  readonly id: string;
  readonly round: string;
  readonly wallet: string;
  readonly signature: string;
}

// Whoever holds both has locked the round first.
const lockChecking = statement<{ id: string }>(
  'lock_checking_ticket',
  `select id::text from tickets where id = $1 and state = 'checking' for update`,
);
const confirm = statement('confirm_ticket', `update tickets set state = 'confirmed', found = true, decided_at = app_now() where id = $1`);
const refuse = statement(
  'refuse_ticket',
  `update tickets set state = 'refused', reason = $2, found = $3, refunds = $4::jsonb, decided_at = app_now() where id = $1`,
);

/**
 * Why a locked round has no place for a ticket, or null.
 * @param paidAt when it was paid: in time, it counts until the round is frozen; null where it is free
 */
export function whyFull(round: LockedRound, paidAt: string | null): string | null {
  const isOpen = paidAt === null ? takesEntries(round) : round.state === 'active' && Date.parse(paidAt) < round.closesAt;
  if (!isOpen) return 'the round is closed';
  const { parameters } = round;
  if (parameters.kind !== 'legacy') return 'the round has no tickets';
  const most = Math.min(parameters.maxTickets ?? MOST_TICKETS, MOST_TICKETS);
  return round.entries >= most ? `the round has its ${most} tickets already` : null;
}

/**
 * Decides a ticket by what its final transaction is: it becomes an entry, or is refused and what was paid is owed back. All of it in one
 * transaction, once; of a ticket that is decided already, nothing changes. Paid before the round closes, and final before it is frozen:
 * that is what counts.
 */
export async function decide(app: App, ticket: Checking, judgement: Exclude<Judgement, { verdict: 'unread' }>): Promise<void> {
  await app.tx(async (tx) => {
    const round = judgement.verdict === 'pays' ? await lockRound(tx, ticket.round) : null;
    if ((await tx.query(lockChecking, [ticket.id])).length === 0) return;
    if (judgement.verdict === 'refuse') return await refuseFound(app, tx, ticket, judgement.reason, judgement.refunds);
    const full = round === null ? 'the round is not open' : whyFull(round, judgement.at);
    if (round === null || full !== null) return await refuseFound(app, tx, ticket, full ?? '', judgement.refunds);
    const { id, wallet, signature } = ticket;
    const [entry] = await appendEntries(tx, round, [{ id, wallet, numbers: [], source: 'chain', messageId: signature, at: judgement.at }]);
    if (!entry) throw new Error('a ticket that was accepted is missing');
    await tx.query(confirm, [id]);
    tx.emit(ticketConfirmed, { roundId: round.id, ticketId: id, ticketNumber: entry.index, signature }, wallet);
  });
}

async function refuseFound(app: App, tx: Tx, ticket: Checking, reason: string, paid: readonly PaidBack[]): Promise<void> {
  const { id, round, wallet, signature } = ticket;
  const debts = paid.map(({ currency, amount, cause }) => ({ wallet, currency, amount, cause: { kind: 'refund', id: cause } }));
  const owed = await owe(app, tx, debts);
  const refunds = paid.flatMap(({ currency, amount }, i): RefundRow[] => {
    const payment = owed[i]?.id;
    return payment === undefined ? [] : [{ payment, currency, amount: String(amount) }];
  });
  await tx.query(refuse, [id, reason, true, JSON.stringify(refunds)]);
  tx.emit(ticketRefused, { roundId: round, ticketId: id, signature, reason, refund: refunds[0]?.amount ?? null }, wallet);
}

/** Gives up a ticket whose transaction cannot be had. Asked for again, it is looked for anew. */
export async function giveUp(app: App, { id, round, wallet, signature }: Checking, reason: string): Promise<void> {
  await app.tx(async (tx) => {
    if ((await tx.query(lockChecking, [id])).length === 0) return;
    await tx.query(refuse, [id, reason, false, '[]']);
    tx.emit(ticketRefused, { roundId: round, ticketId: id, signature, reason, refund: null }, wallet);
  });
}
