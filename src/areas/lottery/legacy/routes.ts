import { fail } from '#lib/errors.ts';
import { preferredWait } from '#platform/http/prefer-header.ts';
import { reply, route } from '#platform/http/route.ts';
import { readRound } from '../rows.ts';
import { LegacyRoundView, RoundPath } from '../schemas.ts';
import { askToFinalize, resultOf } from './finalize.ts';
import { openRound } from './open.ts';
import { presentLegacyRound, presentTicket } from './present.ts';
import { locationOf, outcomeOf, requestTicket } from './request.ts';
import { readTickets } from './rows.ts';
import { LegacyResult, LegacyRoundTerms, TicketPath, TicketRequest, TicketView } from './schemas.ts';

/** How long a ticket's request waits for the chain, ms; less where the caller prefers so. */
const WAIT_MS = 20_000;

export const postRound = route({
  method: 'post',
  path: '/round',
  auth: 'session',
  summary: 'Open a legacy round',
  description:
    'Tickets for one price, or free; one winner gets the price of all of them. Active at once, with parameters that never change; drawn as ' +
    'chat rounds are. At most 5 rounds of a wallet are open at a time.',
  body: LegacyRoundTerms,
  returns: { 201: LegacyRoundView },
  fails: [409],
  idempotent: true,
  handler: ({ app, wallet, body, once }) =>
    once(async (tx) => {
      const row = await openRound(app, tx, wallet, body);
      return reply(201, await presentLegacyRound(tx, row), { Location: `/round/${row.id}` });
    }),
});

export const getRound = route({
  method: 'get',
  path: '/round/{id}',
  auth: 'public',
  summary: 'A legacy round',
  params: RoundPath,
  returns: { 200: LegacyRoundView },
  fails: [404],
  cache: 'public, max-age=1',
  async handler({ app, params }) {
    const row = await readRound(app.db, params.id, 'legacy');
    if (!row) throw fail(404, 'no such round');
    return reply(200, await presentLegacyRound(app.db, row));
  },
});

export const postTicket = route({
  method: 'post',
  path: '/round/{id}/ticket',
  auth: 'session',
  summary: 'Ask for a ticket',
  description:
    'Free: one for each wallet. Else names a transaction that is signed by the wallet and has no error: exactly one transfer, by the wallet itself, of exactly the ' +
    'price to the round’s `payTo.tokenAccount`, and one memo, `payTo.memo`. It must be final, and the ticket accepted, before the round closes; a transaction ' +
    'pays for one ticket, ever. Waits up to 20 s until it is final (`Prefer: wait=5` for less, `respond-async` for none); later than that it is 202, ' +
    'asked again meanwhile the same, and `ticket_confirmed` or `ticket_refused` tells the outcome. Refused with 409 and the reason; what the wallet has paid the ' +
    'treasury in a transaction that is refused is paid back, see `refunds` of the ticket at `Location`. A transaction that is not found within 10 minutes ' +
    'is refused and may be named again.',
  params: RoundPath,
  body: TicketRequest,
  returns: { 201: TicketView, 202: TicketView },
  fails: [404, 409, 429],
  idempotent: true,
  async handler({ app, params, wallet, body, ctx, once }) {
    const asked = await once(async (tx) => reply(202, { ticketId: await requestTicket(tx, params.id, wallet, body.transaction) }));
    const ticket = await outcomeOf(app, asked.body.ticketId, preferredWait(ctx, WAIT_MS));
    if (!ticket) throw fail(404, 'no such ticket');
    const location = { Location: locationOf(ticket) };
    if (ticket.state === 'refused') throw fail(409, ticket.reason ?? 'the ticket was refused', location);
    if (ticket.state === 'checking') return reply(202, await presentTicket(app, ticket), location);
    return reply(201, await presentTicket(app, ticket), location);
  },
});

export const getTicket = route({
  method: 'get',
  path: '/round/{id}/tickets/{ticketId}',
  auth: 'public',
  summary: 'How a ticket stands',
  params: TicketPath,
  returns: { 200: TicketView },
  fails: [404],
  async handler({ app, params }) {
    const [ticket] = await readTickets(app.db, [params.ticketId]);
    if (ticket?.round !== params.id) throw fail(404, 'no such ticket');
    return reply(200, await presentTicket(app, ticket));
  },
});

export const postFinalize = route({
  method: 'post',
  path: '/round/{id}/finalize',
  auth: 'session',
  summary: 'Close a legacy round and have it drawn',
  description:
    'By its creator at any time, by anybody once it has closed; without being asked it happens soon after. No ticket is accepted from then on: those that are being ' +
    'checked are paid back. 202 until the round is drawn, 200 with the winner from then on, 409 where it is void.',
  params: RoundPath,
  returns: { 200: LegacyResult, 202: LegacyRoundView },
  fails: [403, 404, 409],
  idempotent: true,
  async handler({ app, params, wallet, once }) {
    await once(async (tx) => {
      await askToFinalize(tx, params.id, wallet);
      return reply(202, null);
    });
    const row = await readRound(app.db, params.id, 'legacy');
    if (!row) throw fail(404, 'no such round');
    if (row.state === 'void') throw fail(409, `the round is void: ${row.voidReason === 'no-entries' ? 'it has no tickets' : row.voidReason}`);
    if (row.state === 'finalized') return reply(200, await resultOf(app, row));
    return reply(202, await presentLegacyRound(app.db, row), { Location: `/round/${row.id}` });
  },
});

export const legacyRoutes = { public: [getRound, getTicket], session: [postRound, postTicket, postFinalize], admin: [] };
