import { sql } from 'kysely';
import { checkTicket } from '#jobs/rounds.ts';
import { fail } from '#lib/errors.ts';
import { newId } from '#lib/ids.ts';
import { run } from '#platform/db/query-builder.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { pollUntil } from '#platform/jobs/polling.ts';
import { appendEntries, lockRound } from '../entries.ts';
import { ticketConfirmed } from '../events.ts';
import { build } from '../rows.ts';
import { refusalReason } from './decide.ts';
import { readTicketByPayment, readTickets, type TicketRow } from './rows.ts';

/** Maximum tickets in state `checking` per wallet. */
const MAX_CHECKING = 50;

/** Waits until a ticket is confirmed or refused. Call it outside a transaction. */
export const waitForDecision = pollUntil<TicketRow>(
  (app, ids) => readTickets(app.db, ids),
  ({ state }) => state !== 'checking',
);

/**
 * Requests a ticket of a round. A job checks a paid ticket; a free ticket is confirmed immediately.
 * @param signature signature of the paying transaction; undefined for a free ticket
 * @returns the ticket's id; a repeated request returns the same id while the transaction is being checked
 * @throws 404 when the round does not exist; 400 when the transaction is missing or not allowed; 409 when the transaction was used before or
 * the round takes no ticket; 429 when too many tickets of the wallet are being checked
 */
export async function requestTicket(tx: Tx, round: string, wallet: string, signature: string | undefined): Promise<string> {
  const rounds = build.selectFrom('rounds').select('ticket_price as price');
  const [row] = await run(tx, rounds.where('id', '=', round).where('kind', '=', 'legacy'));
  if (!row) throw fail(404, 'the round does not exist');
  const isFree = row.price === '0';
  if (isFree && signature !== undefined) throw fail(400, 'transaction must be omitted, because tickets of this round are free');
  if (isFree) return await issueFreeTicket(tx, round, wallet);
  if (signature === undefined) throw fail(400, `transaction is required, because a ticket costs ${row.price}`);
  return await requestPaidTicket(tx, round, wallet, signature);
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

const countChecking = (wallet: string) =>
  build.selectFrom('tickets').select(sql<number>`count(*)::int`.as('n')).where('wallet', '=', wallet).where('state', '=', 'checking');

/** Builds the insert of a ticket. Inserts and returns no row when the wallet has requested a ticket with this signature before. */
const insertPaid = (ticket: { id: string; round: string; wallet: string; signature: string }) =>
  build
    .insertInto('tickets')
    .values({ ...ticket, state: 'checking' })
    .onConflict((conflict) => conflict.columns(['signature', 'wallet']).doNothing())
    .returning('id');

const reopen = (id: string) =>
  build
    .updateTable('tickets')
    .set({ state: 'checking', reason: null, decided_at: null })
    .set({ asked_at: sql`app_now()`, next_at: sql`app_now() + interval '500 milliseconds'` })
    .where('id', '=', id)
    .where('state', '=', 'refused')
    .where('found', '=', false);

// Accepts requests for a closed round too, so that the job `checkTicket` can find the late payment and refund it.
async function requestPaidTicket(tx: Tx, round: string, wallet: string, signature: string): Promise<string> {
  const known = await readTicketByPayment(tx, wallet, signature);
  if (known) return await repeatRequest(tx, round, known);
  const checking = (await run(tx, countChecking(wallet)))[0]?.n ?? 0;
  if (checking >= MAX_CHECKING)
    throw fail(429, `at most ${MAX_CHECKING} tickets per wallet can be checked at a time; try again later`, { 'Retry-After': '15' });
  const id = newId();
  if ((await run(tx, insertPaid({ id, round, wallet, signature }))).length === 0) {
    // A concurrent request has inserted the same ticket and committed.
    const first = await readTicketByPayment(tx, wallet, signature);
    if (!first) throw new Error(`the ticket for transaction ${signature} was not inserted and cannot be read`);
    return await repeatRequest(tx, round, first);
  }
  tx.enqueue(checkTicket, { ticket: id });
  return id;
}

async function repeatRequest(tx: Tx, round: string, known: TicketRow): Promise<string> {
  const { id, state, entry, found, reason } = known;
  const at = { Location: locationOf(known) };
  if (known.round !== round) throw fail(409, `the transaction is already used for a ticket of round ${known.round}`, at);
  if (state === 'checking') return id;
  if (state === 'refused' && !found) {
    await run(tx, reopen(id));
    tx.enqueue(checkTicket, { ticket: id });
    return id;
  }
  if (state === 'refused') throw fail(409, reason ?? 'the ticket was refused', at);
  throw fail(409, `the transaction is already used for ticket ${entry?.index} of this round`, at);
}

/** Returns the path of a ticket. */
export const locationOf = ({ id, round }: Pick<TicketRow, 'id' | 'round'>): string => `/round/${round}/tickets/${id}`;
