import { checkTicket } from '#jobs/rounds.ts';
import { fail } from '#lib/errors.ts';
import { newId } from '#lib/ids.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { pollUntil } from '#platform/jobs/polling.ts';
import { appendEntries, lockRound } from '../entries.ts';
import { ticketConfirmed } from '../events.ts';
import { whyFull } from './decide.ts';
import { readTicketOf, readTickets, type TicketRow } from './rows.ts';

/** Tickets of a wallet that may be checked at a time. */
const MOST_CHECKING = 50;

const selectPrice = statement<{ price: string }>(
  'select_ticket_price',
  `select ticket_price::text as price from rounds where id = $1 and kind = 'legacy'`,
);

/** Waits, outside any transaction, until a ticket is decided. */
export const outcomeOf = pollUntil<TicketRow>(
  (app, ids) => readTickets(app.db, ids),
  ({ state }) => state !== 'checking',
);

/**
 * Asks for a ticket of a round. One that is paid for is checked by a job; a free one counts at once.
 * @param signature the transaction that pays for it; undefined where tickets are free
 * @returns the ticket's id; the same while its transaction is being checked
 * @throws 404 there is no such round; 400 the transaction is missing, or must be; 409 it was used, or the round takes no ticket; 429
 */
export async function requestTicket(tx: Tx, round: string, wallet: string, signature: string | undefined): Promise<string> {
  const row = (await tx.query(selectPrice, [round]))[0];
  if (!row) throw fail(404, 'no such round');
  const isFree = row.price === '0';
  if (isFree && signature !== undefined) throw fail(400, 'transaction must be left out: tickets of this round are free');
  if (isFree) return await takeFree(tx, round, wallet);
  if (signature === undefined) throw fail(400, `transaction is required: a ticket costs ${row.price}`);
  return await checkPaid(tx, round, wallet, signature);
}

const hasEntry = statement<{ one: number }>('wallet_has_entry', 'select 1 as one from entries where round = $1 and wallet = $2 limit 1');
const insertFree = statement(
  'insert_free_ticket',
  `insert into tickets (id, round, wallet, state, found, decided_at) values ($1, $2, $3, 'confirmed', true, app_now())`,
);

async function takeFree(tx: Tx, roundId: string, wallet: string): Promise<string> {
  const round = await lockRound(tx, roundId);
  if (!round) throw fail(404, 'no such round');
  const full = whyFull(round, null);
  if (full !== null) throw fail(409, full);
  if ((await tx.query(hasEntry, [roundId, wallet])).length > 0) throw fail(409, 'a wallet has at most one ticket of a round that is free');
  const id = newId();
  const at = new Date(round.now).toISOString();
  const [entry] = await appendEntries(tx, round, [{ id, wallet, numbers: [], source: 'ticket', messageId: id, at }]);
  await tx.query(insertFree, [id, roundId, wallet]);
  tx.emit(ticketConfirmed, { roundId, ticketId: id, ticketNumber: entry?.index ?? 0, signature: null }, wallet);
  return id;
}

const countChecking = statement<{ n: number }>(
  'count_checking_tickets',
  `select count(*)::int as n from tickets where wallet = $1 and state = 'checking'`,
);
const insertPaid = statement<{ id: string }>(
  'insert_paid_ticket',
  `insert into tickets (id, round, wallet, signature, state) values ($1, $2, $3, $4, 'checking')
   on conflict (signature, wallet) do nothing returning id::text`,
);
const reopen = statement(
  'reopen_ticket',
  `update tickets set state = 'checking', reason = null, decided_at = null, asked_at = app_now(), next_at = app_now() + interval '500 milliseconds'
   where id = $1 and state = 'refused' and not found`,
);

// A round that is closed is no obstacle: what was paid too late is found so, and paid back.
async function checkPaid(tx: Tx, round: string, wallet: string, signature: string): Promise<string> {
  const known = await readTicketOf(tx, wallet, signature);
  if (known) return await askAgain(tx, round, known);
  const checking = (await tx.query(countChecking, [wallet]))[0]?.n ?? 0;
  if (checking >= MOST_CHECKING) throw fail(429, `there must be fewer than ${MOST_CHECKING} tickets being checked, wait`, { 'Retry-After': '15' });
  const id = newId();
  if ((await tx.query(insertPaid, [id, round, wallet, signature])).length === 0) {
    // Somebody else was first, and has committed by now.
    const first = await readTicketOf(tx, wallet, signature);
    if (!first) throw new Error(`the ticket for ${signature} is neither new nor there`);
    return await askAgain(tx, round, first);
  }
  tx.enqueue(checkTicket, { ticket: id });
  return id;
}

async function askAgain(tx: Tx, round: string, known: TicketRow): Promise<string> {
  const { id, state, entry, found, reason } = known;
  const at = { Location: locationOf(known) };
  if (known.round !== round) throw fail(409, `the transaction was named for a ticket of round ${known.round} before`, at);
  if (state === 'checking') return id;
  if (state === 'refused' && !found) {
    await tx.query(reopen, [id]);
    tx.enqueue(checkTicket, { ticket: id });
    return id;
  }
  if (state === 'refused') throw fail(409, reason ?? 'the ticket was refused', at);
  throw fail(409, `the transaction was used before, for ticket ${entry?.index} of this round`, at);
}

/** Where a ticket is read. */
export const locationOf = ({ id, round }: Pick<TicketRow, 'id' | 'round'>): string => `/round/${round}/tickets/${id}`;
