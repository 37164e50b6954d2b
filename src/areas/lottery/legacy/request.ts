import { sql } from 'kysely';
import { checkTicket } from '#jobs/rounds.ts';
import type { RoundParameters } from '#lib/draw/parameters.ts';
import { fail, type HttpError, unavailable } from '#lib/errors.ts';
import { newId } from '#lib/ids.ts';
import type { App } from '#platform/app.ts';
import { tooManyRequests } from '#platform/auth/rate-limit.ts';
import { run } from '#platform/db/query-builder.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { pollUntil } from '#platform/jobs/polling.ts';
import { appendEntries, lockRound } from '../entries.ts';
import { type EntryBalance, refusedWallets } from '../entry-rules.ts';
import { ticketConfirmed } from '../events.ts';
import { paymentRestriction } from '../restrictions/restrictions.ts';
import { build } from '../rows.ts';
import { refusalReason } from './decide.ts';
import { readTicketByPayment, readTickets, type TicketRow } from './rows.ts';

/** Maximum tickets in state `checking` per wallet. */
const MAX_CHECKING = 50;

/** Waits until a ticket is confirmed, or until it is known that it will be refused. Call it outside a transaction. */
export const waitForDecision = pollUntil<TicketRow>(
  (app, ids) => readTickets(app.db, ids),
  ({ state, brokenRule }) => state !== 'checking' || brokenRule !== null,
);

/** Returns the error of a ticket that is refused, or that will be refused because of an entry rule; null for another ticket. */
export function refusalError(ticket: TicketRow): HttpError | null {
  const reason = ticket.reason ?? ticket.brokenRule;
  return reason === null ? null : fail(reason === ticket.brokenRule ? 403 : 409, reason, { Location: locationOf(ticket) });
}

/** A legacy round for which a wallet requests a ticket. */
export interface RequestedRound {
  readonly id: string;
  readonly price: string;
  readonly parameters: RoundParameters;
  /** Whether the round is not frozen. Until then a ticket that was paid before the closing time is accepted, also after that time. */
  readonly isActive: boolean;
}
export const selectRequested = statement<RequestedRound>(
  'select_round_of_ticket_request',
  `select id::text, ticket_price::text as price, parameters, state = 'active' as "isActive"
   from rounds where id = $1 and kind = 'legacy' and parameters is not null`,
);

/**
 * Requests a ticket of a round. A job checks a paid ticket; a free ticket is confirmed immediately. The entry rules and the
 * restrictions of paid rounds are checked now: a paid ticket of a wallet that does not meet them is stored with the broken rule, so that the job
 * refunds the payment.
 * @param signature signature of the paying transaction; undefined for a free ticket
 * @param balance the wallet's balance of the token that the round requires (`readTicketBalance`)
 * @returns the ticket's id; a repeated request returns the same id while the transaction is being checked
 * @throws 404 when the round does not exist; 400 when the transaction is missing or not allowed; 403 when no payment is named and the wallet does not
 * meet the entry rules; 409 when the transaction was used before or the round takes no ticket; 429 when too many tickets of the wallet are being
 * checked; 503 when the balance that the rules require, or the deny list, is not known
 */
export async function requestTicket(
  app: App,
  tx: Tx,
  roundId: string,
  wallet: string,
  signature: string | undefined,
  balance: EntryBalance | null,
): Promise<string> {
  const [round] = await tx.query(selectRequested, [roundId]);
  if (!round) throw fail(404, 'the round does not exist');
  const isFree = round.price === '0';
  if (isFree && signature !== undefined) throw fail(400, 'transaction must be omitted, because tickets of this round are free');
  if (signature !== undefined) return await requestPaidTicket(app, tx, round, wallet, signature, balance);
  const rule = await findBrokenRule(app, tx, round, wallet, balance);
  if (rule !== null) throw fail(403, rule);
  if (!isFree) throw fail(400, `transaction is required, because a ticket costs ${round.price}`);
  return await issueFreeTicket(tx, roundId, wallet);
}

/**
 * Returns the entry rule of a round, or the restriction of paid rounds, that refuses a wallet; null when there is none, and for a round that is frozen,
 * which takes no ticket anyway.
 */
export async function findBrokenRule(
  app: App,
  tx: Queryable,
  round: RequestedRound,
  wallet: string,
  balance: EntryBalance | null,
): Promise<string | null> {
  const { parameters, isActive, price } = round;
  if (!isActive) return null;
  const restriction = price === '0' ? null : await paymentRestriction(app, tx, wallet);
  const refusal = restriction ?? (await refusedWallets(tx, parameters.entryRules, parameters.opensAt, new Map([[wallet, balance]]))).get(wallet);
  if (refusal?.status === 503) throw unavailable(refusal.error, 2);
  return refusal?.error ?? null;
}

async function issueFreeTicket(tx: Tx, roundId: string, wallet: string): Promise<string> {
  const round = await lockRound(tx, roundId);
  if (!round) throw fail(404, 'the round does not exist');
  const full = refusalReason(round, null);
  if (full !== null) throw fail(409, full);
  const own = build.selectFrom('entries').select('index').where('round', '=', roundId).where('wallet', '=', wallet).limit(1);
  if ((await run(tx, own)).length > 0) throw fail(409, 'a wallet can have only one ticket of a free round');
  const id = newId();
  const [entry] = await appendEntries(tx, round, [{ id, wallet, numbers: [], source: 'ticket', messageId: id }]);
  const ticket = { id, round: roundId, wallet, state: 'confirmed', found: true, decided_at: sql<string>`app_now()` } as const;
  await run(tx, build.insertInto('tickets').values(ticket));
  tx.emit(ticketConfirmed, { roundId, ticketId: id, ticketNumber: entry?.index ?? 0, signature: null }, wallet);
  return id;
}

// Without the lock, concurrent requests would all count the same tickets, and together exceed the limit.
const lockRequests = statement('lock_ticket_requests', 'select pg_advisory_xact_lock(hashtextextended($1, 4203))');
const countChecking = (wallet: string) =>
  build.selectFrom('tickets').select(sql<number>`count(*)::int`.as('n')).where('wallet', '=', wallet).where('state', '=', 'checking');

/** @throws 429 when the maximum number of tickets of a wallet is being checked */
async function refuseTooMany(tx: Tx, wallet: string): Promise<void> {
  await tx.query(lockRequests, [wallet]);
  const checking = (await run(tx, countChecking(wallet)))[0]?.n ?? 0;
  if (checking < MAX_CHECKING) return;
  const message = `at most ${MAX_CHECKING} tickets per wallet can be checked at a time; try again later`;
  throw tooManyRequests(message, { name: 'tickets-in-check', quota: MAX_CHECKING, windowMs: null, waitMs: 15_000 });
}

/** Builds the insert of a ticket. Inserts and returns no row when the wallet has requested a ticket with this signature before. */
const insertPaid = (ticket: { id: string; round: string; wallet: string; signature: string; broken_rule: string | null; requested: boolean }) =>
  build
    .insertInto('tickets')
    .values({ ...ticket, state: 'checking' })
    .onConflict((conflict) => conflict.columns(['signature', 'wallet']).doNothing())
    .returning('id');

const reopen = (id: string, brokenRule: string | null) =>
  build
    .updateTable('tickets')
    .set({ state: 'checking', reason: null, broken_rule: brokenRule, decided_at: null })
    .set({ asked_at: sql`app_now()`, next_at: sql`app_now() + interval '500 milliseconds'` })
    .where('id', '=', id)
    .where('state', '=', 'refused')
    .where('found', '=', false);

// Accepts requests for a closed round too, so that the job `checkTicket` can find the late payment and refund it.
async function requestPaidTicket(
  app: App,
  tx: Tx,
  round: RequestedRound,
  wallet: string,
  signature: string,
  balance: EntryBalance | null,
): Promise<string> {
  const known = await readTicketByPayment(tx, wallet, signature);
  if (known) return await repeatRequest(app, tx, round, known, balance);
  await refuseTooMany(tx, wallet);
  const id = newId();
  const brokenRule = await findBrokenRule(app, tx, round, wallet, balance);
  if ((await run(tx, insertPaid({ id, round: round.id, wallet, signature, broken_rule: brokenRule, requested: true }))).length === 0) {
    // A concurrent request has inserted the same ticket and committed.
    const first = await readTicketByPayment(tx, wallet, signature);
    if (!first) throw new Error(`the ticket for transaction ${signature} was not inserted and cannot be read`);
    return await repeatRequest(app, tx, round, first, balance);
  }
  tx.enqueue(checkTicket, { ticket: id });
  return id;
}

async function repeatRequest(app: App, tx: Tx, round: RequestedRound, known: TicketRow, balance: EntryBalance | null): Promise<string> {
  const { id, state, entry, requested, found, wallet } = known;
  const at = { Location: locationOf(known) };
  if (known.round !== round.id) throw fail(409, `the transaction is already used for a ticket of round ${known.round}`, at);
  // The wallet has not been told the number of a ticket that the service found itself.
  if (state === 'checking' || (state === 'confirmed' && !requested)) return id;
  if (state === 'refused' && !found) {
    await refuseTooMany(tx, wallet);
    await run(tx, reopen(id, await findBrokenRule(app, tx, round, wallet, balance)));
    tx.enqueue(checkTicket, { ticket: id });
    return id;
  }
  const refusal = refusalError(known);
  if (refusal) throw refusal;
  throw fail(409, `the transaction is already used for ticket ${entry?.index} of this round`, at);
}

/**
 * Records the ticket of a payment that was found on the chain, as if the wallet had requested the ticket. Does nothing when the wallet has requested
 * it. The job `checkTicket` then accepts the ticket, or refuses it and refunds the payment. The entry rules and the restrictions are checked now.
 * @throws 503 when the balance that the rules require, or the deny list, is not known
 */
export async function recordPayment(
  app: App,
  tx: Tx,
  round: RequestedRound,
  wallet: string,
  signature: string,
  balance: EntryBalance | null,
): Promise<void> {
  if (await readTicketByPayment(tx, wallet, signature)) return;
  const id = newId();
  const brokenRule = await findBrokenRule(app, tx, round, wallet, balance);
  const inserted = await run(tx, insertPaid({ id, round: round.id, wallet, signature, broken_rule: brokenRule, requested: false }));
  if (inserted.length > 0) tx.enqueue(checkTicket, { ticket: id });
}

/** Returns the path of a ticket. */
export const locationOf = ({ id, round }: Pick<TicketRow, 'id' | 'round'>): string => `/round/${round}/tickets/${id}`;
