import { z } from 'zod';
import { fail } from '#lib/errors.ts';
import { PageQuery } from '#lib/paging.ts';
import type { App } from '#platform/app.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { inTurn } from '#platform/db/turns.ts';
import { reply, route } from '#platform/http/route.ts';
import { readBurnBoard, readBurnRank } from './boards.ts';
import { activateEvent, createEvent, endEvent, MAX_PENDING } from './lifecycle.ts';
import { listRefusals } from './refusals.ts';
import { listStartedEvents, presentEvent, readActiveEvent, readEvent } from './rows.ts';
import {
  type BurnBoard,
  BurnBoardQuery,
  BurnEventTerms,
  BurnEventView,
  BurnPath,
  BurnRank,
  BurnStanding,
  BurnTransaction,
  BurnTransactionRequest,
  RefusedBurn,
} from './schemas.ts';
import { BUILD_LIMIT, buildBurnTransaction } from './unsigned-transaction.ts';

/** Cache-Control: clients must revalidate a response before they use it again. */
const REVALIDATE = 'no-cache';
const PRIVATE = { 'Cache-Control': 'private, no-cache' };

const postEvent = route({
  method: 'post',
  path: '/events/burn',
  auth: 'session',
  summary: 'Create a burn event',
  description: `The event burns the reward token. It is pending until it is activated. A wallet may have at most ${MAX_PENDING} pending events of the last 7 days.`,
  body: BurnEventTerms,
  returns: { 201: BurnEventView },
  fails: [409],
  idempotent: true,
  handler: ({ app, wallet, body, once }) => {
    const create = async (tx: Tx) => {
      const event = await createEvent(app, tx, wallet, body);
      return reply(201, presentEvent(event), { Location: `/events/burn/${event.id}` });
    };
    return inTurn(app, `burn-events ${wallet}`, () => once(create));
  },
});

const postActivate = route({
  method: 'post',
  path: '/events/burn/{id}/activate',
  auth: { sessionOrAdmin: 'content' },
  summary: 'Activate a burn event',
  description:
    'An operator can activate the event. The wallet that created it can do so if it is an organiser. Only one event can be active at a time. 409: the event is not pending, or another event is active.',
  params: BurnPath,
  returns: { 200: BurnEventView },
  fails: [403, 404, 409],
  // Activations share one lock.
  handler: ({ app, params, wallet }) =>
    inTurn(app, 'burn-activations', async () => reply(200, presentEvent(await activateEvent(app, params.id, wallet)))),
});

const postEnd = route({
  method: 'post',
  path: '/admin/burn/{id}/end',
  auth: { admin: 'content' },
  summary: 'End a burn event before its time',
  description: 'Burns in blocks before the end still count when they are finalized later. 409: the event is not active.',
  params: BurnPath,
  returns: { 200: BurnEventView },
  fails: [404, 409],
  handler: async ({ app, params }) => reply(200, presentEvent(await endEvent(app, params.id))),
});

const getEvents = route({
  method: 'get',
  path: '/events/burn',
  auth: 'public',
  summary: 'List the active and ended burn events',
  description: 'Newest first.',
  query: PageQuery,
  returns: { 200: z.array(BurnEventView) },
  fails: [],
  cache: REVALIDATE,
  handler: async ({ app, query }) => {
    const { events, total } = await listStartedEvents(app.db, query.limit, query.offset);
    return reply(200, events.map(presentEvent), { 'X-Total-Count': String(total) });
  },
});

const getActive = route({
  method: 'get',
  path: '/events/burn/active',
  auth: 'public',
  summary: 'Read the active burn event',
  description: 'Returns null when no event is active.',
  returns: { 200: BurnEventView.nullable() },
  fails: [],
  cache: REVALIDATE,
  handler: async ({ app }) => {
    const event = await readActiveEvent(app.db);
    return reply(200, event && presentEvent(event));
  },
});

const getEvent = route({
  method: 'get',
  path: '/events/burn/{id}',
  auth: 'public',
  summary: 'Read a burn event',
  params: BurnPath,
  returns: { 200: BurnEventView },
  fails: [404],
  cache: REVALIDATE,
  handler: async ({ app, params }) => reply(200, presentEvent(await readEvent(app.db, params.id))),
});

async function list(app: App, id: string, board: BurnBoard, query: BurnBoardQuery, wallet: string | null) {
  if (query.around !== undefined && wallet === null) throw fail(401, 'around requires a session, sign in first');
  const event = await readEvent(app.db, id);
  const { limit, offset, around } = query;
  const { entries, total } = await readBurnBoard(app, event.id, board, { limit, offset, around: around === undefined ? null : wallet });
  return reply(200, entries, { 'X-Total-Count': String(total), ...(around === undefined ? {} : PRIVATE) });
}

const leaderboard = (board: BurnBoard, path: string, amounts: string) =>
  route({
    method: 'get',
    path: `/events/burn/{id}/leaderboard${path}`,
    auth: 'optional',
    summary: `List the wallets of a burn event by ${amounts}`,
    description:
      'Highest amount first. Wallets with equal amounts share a rank and are listed by address, descending. Also available after the event has ended.',
    params: BurnPath,
    query: BurnBoardQuery,
    returns: { 200: z.array(BurnStanding) },
    fails: [401, 404],
    cache: REVALIDATE,
    handler: ({ app, params, query, wallet }) => list(app, params.id, board, query, wallet),
  });

const getRank = route({
  method: 'get',
  path: '/events/burn/{id}/rank',
  auth: 'session',
  summary: 'Read the caller’s rank in a burn event',
  params: BurnPath,
  returns: { 200: BurnRank },
  fails: [404],
  handler: async ({ app, params, wallet }) => {
    const { id } = await readEvent(app.db, params.id);
    return reply(200, await readBurnRank(app.db, id, wallet));
  },
});

const postTransaction = route({
  method: 'post',
  path: '/events/burn/{id}/transaction',
  auth: 'session',
  load: 'lookup',
  summary: 'Build the transaction that burns tokens for a burn event',
  description: `Returns an unsigned transaction with a burn instruction and the memo of the event. The caller’s wallet signs and sends it. The burn counts when its transaction is finalized; its source counts only if it is valid for the wallet then. 409: the event is not active, or the caller’s associated token account holds less than amount or is frozen. At most ${BUILD_LIMIT.max} requests per minute.`,
  params: BurnPath,
  body: BurnTransactionRequest,
  returns: { 200: BurnTransaction },
  fails: [404, 409, 429],
  handler: async ({ app, params, wallet, body }) => reply(200, await buildBurnTransaction(app, params.id, wallet, body)),
});

const getRefused = route({
  method: 'get',
  path: '/me/burns/refused',
  auth: 'session',
  summary: 'List the caller’s burns that are not credited, with the reasons',
  description:
    'Newest first. Contains the burns of the reward token from the start of a burn event until a day after the end of the last one. A burn is listed when its transaction is finalized.',
  query: PageQuery,
  returns: { 200: z.array(RefusedBurn) },
  fails: [],
  handler: async ({ app, wallet, query }) => {
    const { burns, total } = await listRefusals(app.db, wallet, query.limit, query.offset);
    return reply(200, burns, { 'X-Total-Count': String(total) });
  },
});

/** The endpoints of burn events, grouped by the callers that may use them. */
export const burnRoutes = {
  public: [
    getEvents,
    getActive,
    getEvent,
    leaderboard('total', '', 'total burns'),
    leaderboard('referral', '/referrals', 'burns from the source referral'),
    leaderboard('game', '/game', 'burns from the source game'),
    leaderboard('social', '/social', 'burns from the source social'),
  ],
  session: [postEvent, postActivate, getRank, postTransaction, getRefused],
  admin: [postEnd],
};
