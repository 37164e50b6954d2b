import { checkTicket as checkTicketJob } from '#jobs/rounds.ts';
import type { LegacyParameters } from '#lib/draw/parameters.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { FetchedTransaction } from '#platform/solana/fetched-transaction.ts';
import { isContradicted, keepAgreedSignatures } from '#platform/solana/submission/index.ts';
import { abandonTicket, type CheckingTicket, decideTicket } from './decide.ts';
import { evaluatePayment, treasuryAccounts } from './payment.ts';

/**
 * Time after a ticket request. If the RPC node does not know the ticket's transaction after this time, the transaction counts as lost. By then the
 * transaction's blockhash has expired, unless the transaction uses a durable nonce.
 */
const LOST = `interval '10 minutes'`;
/**
 * Time after a ticket request. If the ticket's transaction still cannot be read after this time, the ticket is refused. The wallet can request the
 * ticket again.
 */
const UNREADABLE = `interval '1 day'`;

type CheckingRow = CheckingTicket & { parameters: LegacyParameters; lost: boolean; unreadable: boolean };
const selectChecking = statement<CheckingRow>(
  'select_checking_ticket',
  `select t.id::text, t.round::text, t.wallet, t.signature, t.broken_rule as "brokenRule", r.parameters,
     t.asked_at <= (select app_now()) - ${LOST} as lost, t.asked_at <= (select app_now()) - ${UNREADABLE} as unreadable
   from tickets t join rounds r on r.id = t.round where t.id = $1 and t.state = 'checking'`,
);

/**
 * Reads the transaction that pays for a ticket, and accepts or refuses the ticket when the transaction is finalized. Until then the ticket stays
 * unchanged, and `sweepTickets` enqueues the check again. Idempotent.
 */
export async function checkTicket(app: App, id: string): Promise<void> {
  const ticket = (await app.db.query(selectChecking, [id]))[0];
  if (!ticket) return;
  const evaluation = await evaluateTransaction(app, ticket).catch((error: unknown) => {
    if (!ticket.unreadable) throw error;
    app.log.error({ err: error, ticket: id }, 'the transaction of a ticket cannot be read; the ticket is refused');
    return { verdict: 'unavailable' as const };
  });
  if (evaluation.verdict !== 'unavailable') return await decideTicket(app, ticket, evaluation);
  if (ticket.unreadable) return await abandonTicket(app, ticket, 'the transaction cannot be read; request the ticket again later');
  if (ticket.lost && !(await isKnown(app, ticket.signature))) return await abandonTicket(app, ticket, 'the chain does not know the transaction');
}

async function evaluateTransaction(app: App, { signature, wallet, parameters }: CheckingRow) {
  if (await isContradicted(app.db, PAYMENT_TYPE)) return { verdict: 'unavailable' as const };
  const found = await app.chain.node.transaction(signature, 'finalized');
  if (found === null || !(await isAgreed(app, found))) return { verdict: 'unavailable' as const };
  return evaluatePayment(found, wallet, parameters, treasuryAccounts(parameters, app.config.chain.rewardMint));
}

/** Type under which a contradiction of the RPC nodes about payments of tickets pauses these payments. */
export const PAYMENT_TYPE = 'ticket';

/** Returns whether both RPC nodes state a finalized transaction, because a payment that only one node has may be on another fork. */
async function isAgreed(app: App, { signature, slot, outcome }: FetchedTransaction): Promise<boolean> {
  const isFailed = outcome?.failed === true;
  return (await keepAgreedSignatures(app, [{ type: PAYMENT_TYPE, signature, slot, isFailed }])).has(signature);
}

const statusesOf = async (app: App, signatures: readonly string[]) => (await app.chain.node.statuses(signatures, { searchHistory: true })).statuses;

const isKnown = async (app: App, signature: string) => ((await statusesOf(app, [signature]))[0] ?? null) !== null;

/** Maximum tickets per sweep. RPC nodes accept at most this number of signatures per request. */
const MAX_PER_SWEEP = 256;

/** SQL: the tickets whose next check is due. */
export const DUE_TICKETS = `select id from tickets where state = 'checking' and next_at <= (select app_now())`;
// The delay before the next check of a ticket is a quarter of the age of its request: at least 500 ms, at most 15 s.
const takeDue = statement<{ ticket: string; signature: string; lost: boolean }>(
  'take_due_tickets',
  `update tickets set next_at = app_now() + least(interval '15 seconds', greatest(interval '500 milliseconds', (app_now() - asked_at) / 4))
   where id = any(array(
     ${DUE_TICKETS} order by next_at limit ${MAX_PER_SWEEP} for update skip locked))
   returning id::text as ticket, signature, asked_at <= (select app_now()) - ${LOST} as lost`,
);

/**
 * Enqueues a check for each due ticket whose transaction is finalized or lost. One RPC request reads the transaction statuses of all due tickets, so
 * that a ticket whose transaction is not on the chain yet does not delay other tickets.
 */
export async function sweepTickets(app: App): Promise<void> {
  const due = await app.tx((tx) => tx.query(takeDue));
  if (due.length === 0) return;
  const statuses = await statusesOf(
    app,
    due.map(({ signature }) => signature),
  );
  const ready = due.filter(({ lost }, i) => lost || statuses[i]?.confirmationStatus === 'finalized');
  if (ready.length > 0) await app.queues.add(ready.map(({ ticket }) => ({ job: checkTicketJob, payload: { ticket } })));
}
