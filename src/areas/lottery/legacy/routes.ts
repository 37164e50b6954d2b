import { z } from 'zod';
import { fail } from '#lib/errors.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { inTurn } from '#platform/db/turns.ts';
import { preferredWaitMs } from '#platform/http/prefer-header.ts';
import { reply, route } from '#platform/http/route.ts';
import { readDraws } from '../draws/account.ts';
import { readTicketBalance } from '../entry-rules.ts';
import { listRounds, RoundsQuery } from '../lists.ts';
import { REVALIDATE } from '../routes/cache-control.ts';
import { readRound } from '../rows.ts';
import { LegacyRoundView, RoundPath } from '../schemas.ts';
import { readResult, requestFinalization } from './finalize.ts';
import { openRound } from './open.ts';
import { presentLegacyRound, presentLegacyRounds, presentTicket } from './present.ts';
import { locationOf, refusalError, requestTicket, waitForDecision } from './request.ts';
import { readTickets } from './rows.ts';
import { LegacyResult, LegacyRoundTerms, TicketPath, TicketRequest, TicketView } from './schemas.ts';

/** Maximum time that a ticket request waits for the decision, ms. The header `Prefer: wait` can shorten this time. */
const WAIT_MS = 20_000;

/** Day since which the endpoints that the specification calls legacy are kept only for existing clients. */
const LEGACY_SINCE = '2026-11-23';

export const postRound = route({
  method: 'post',
  path: '/round',
  deprecatedSince: LEGACY_SINCE,
  auth: 'session',
  summary: 'Open a legacy round',
  description:
    'All tickets have one price, or are free; one winner gets the sum of all ticket prices. The round is active immediately and its parameters never change. ' +
    'It is drawn like a chat round. `entryRules` limit the wallets that get tickets. A wallet can have at most 3 rounds that are not drawn yet (409). The rounds of a wallet and of all wallets per UTC day are limited (429), ' +
    'and an operator can switch such rounds off (403).',
  body: LegacyRoundTerms,
  returns: { 201: LegacyRoundView },
  fails: [403, 409, 429],
  idempotent: true,
  handler: async ({ app, wallet, body, once }) => {
    const draws = await readDraws(app);
    const open = async (tx: Tx) => {
      const row = await openRound(app, tx, draws, wallet, body);
      return reply(201, await presentLegacyRound(tx, row), { Location: `/round/${row.id}` });
    };
    // Legacy rounds that are opened share one lock.
    return await inTurn(app, 'legacy-rounds', () => once(open));
  },
});

export const getRound = route({
  method: 'get',
  path: '/round/{id}',
  deprecatedSince: LEGACY_SINCE,
  auth: 'public',
  summary: 'A legacy round',
  params: RoundPath,
  returns: { 200: LegacyRoundView },
  fails: [404],
  cache: 'public, max-age=1',
  async handler({ app, params }) {
    const row = await readRound(app.db, params.id, 'legacy');
    if (!row) throw fail(404, 'the round does not exist');
    return reply(200, await presentLegacyRound(app.db, row));
  },
});

export const getRounds = route({
  method: 'get',
  path: '/rounds',
  auth: 'public',
  summary: 'List legacy rounds, newest first',
  description:
    'For example, `status=active` lists the rounds that sell tickets, and `status=closing,committed` those that are closed and not drawn yet.',
  query: RoundsQuery,
  returns: { 200: z.array(LegacyRoundView) },
  fails: [],
  cache: REVALIDATE,
  handler: async ({ app, query }) => {
    const { rounds, total } = await listRounds(app.db, 'legacy', query);
    return reply(200, await presentLegacyRounds(app.db, rounds), { 'X-Total-Count': String(total) });
  },
});

export const postTicket = route({
  method: 'post',
  path: '/round/{id}/ticket',
  deprecatedSince: LEGACY_SINCE,
  auth: 'session',
  load: 'worker',
  summary: 'Request a ticket of a legacy round',
  description:
    'A free round gives one ticket per wallet. Otherwise the request names a successful transaction that the wallet has signed. The transaction must contain exactly ' +
    'one transfer, with the wallet as authority, of exactly the price to the round’s `payTo.tokenAccount`, and one memo, `payTo.memo`. The payment must be made before ' +
    'the closing time and be finalized before the round is closed. A transaction pays for one ticket only. The request waits up to 20 s for the finalized transaction (`Prefer: wait=5` waits 5 s, `respond-async` does ' +
    'not wait) and then answers 202. The same request can be repeated; the event `ticket_confirmed` or `ticket_refused` reports the result. A refused ticket is 409 ' +
    'with the reason. Payments to the treasury in a refused transaction are refunded; see `refunds` of the ticket at `Location`. A ticket whose transaction is not ' +
    'found within 10 minutes is refused and can be requested again. A wallet that does not meet the entry rules of the round when it requests the ticket gets 403 with ' +
    'the rule, and its payment is refunded. The same applies to a paid ticket of a wallet that is on the deny list, that excluded itself (`/me/exclusion`), or that did not accept the current terms (`/me/terms`); ' +
    'these three are checked again when the payment is found. The service also finds payments of exactly the price that no request names, and records their tickets. ' +
    ' To check the rules before it pays, a wallet can send the request without `transaction`: 403 with the rule, otherwise 400.',
  params: RoundPath,
  body: TicketRequest,
  returns: { 201: TicketView, 202: TicketView },
  fails: [403, 404, 409, 429],
  idempotent: true,
  async handler({ app, params, wallet, body, ctx, once }) {
    const balance = await readTicketBalance(app, wallet, params.id);
    const request = async (tx: Tx) => reply(202, { ticketId: await requestTicket(app, tx, params.id, wallet, body.transaction, balance) });
    // The requests of a wallet share one lock.
    const requested = await inTurn(app, `ticket ${wallet}`, () => once(request));
    const ticket = await waitForDecision(app, requested.body.ticketId, preferredWaitMs(ctx, WAIT_MS));
    if (!ticket) throw new Error(`ticket ${requested.body.ticketId} was requested but cannot be read`);
    const refusal = refusalError(ticket);
    if (refusal) throw refusal;
    const location = { Location: locationOf(ticket) };
    if (ticket.state === 'checking') return reply(202, await presentTicket(app, ticket), location);
    return reply(201, await presentTicket(app, ticket), location);
  },
});

export const getTicket = route({
  method: 'get',
  path: '/round/{id}/tickets/{ticketId}',
  auth: 'public',
  summary: 'A ticket and its status',
  params: TicketPath,
  returns: { 200: TicketView },
  fails: [404],
  async handler({ app, params }) {
    const [ticket] = await readTickets(app.db, [params.ticketId]);
    if (ticket?.round !== params.id) throw fail(404, 'the ticket does not exist');
    return reply(200, await presentTicket(app, ticket));
  },
});

export const postFinalize = route({
  method: 'post',
  path: '/round/{id}/finalize',
  deprecatedSince: LEGACY_SINCE,
  auth: 'session',
  summary: 'Close a legacy round for its draw',
  description:
    'The creator can close the round at any time, any other wallet after its closing time. Without this request the service closes the round soon after that time. ' +
    'A closed round accepts no tickets; tickets that are still being checked are refunded. 202 until the round is drawn, then 200 with the winner. A round without tickets becomes void at once: 200 with `status: void`.',
  params: RoundPath,
  returns: { 200: LegacyResult, 202: LegacyRoundView },
  fails: [403, 404],
  idempotent: true,
  async handler({ app, params, wallet, once }) {
    await once(async (tx) => {
      await requestFinalization(app, tx, params.id, wallet);
      return reply(202, null);
    });
    const row = await readRound(app.db, params.id, 'legacy');
    if (!row) throw new Error(`round ${params.id} was closed but cannot be read`);
    if (row.state === 'finalized' || row.state === 'void') return reply(200, await readResult(app, row));
    return reply(202, await presentLegacyRound(app.db, row), { Location: `/round/${row.id}` });
  },
});

export const legacyRoutes = { public: [getRounds, getRound, getTicket], session: [postRound, postTicket, postFinalize] };
