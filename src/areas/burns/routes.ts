import { z } from 'zod';
import { fail } from '#lib/errors.ts';
import { PageQuery } from '#lib/paging.ts';
import type { App } from '#platform/app.ts';
import { reply, route } from '#platform/http/route.ts';
import { readBoard, readRank } from './boards.ts';
import { activateEvent, createEvent, endEvent, MOST_PENDING } from './lifecycle.ts';
import { presentEvent, readActive, readBegun, readEvent } from './rows.ts';
import { type BurnBoard, BurnBoardQuery, BurnEventTerms, BurnEventView, BurnPath, BurnRank, BurnStanding } from './schemas.ts';

/** What may change is asked for anew each time. */
const FRESH = 'no-cache';
const OWN = { 'Cache-Control': 'private, no-cache' };

const postEvent = route({
  method: 'post',
  path: '/events/burn',
  auth: 'session',
  summary: 'Describe a burn event',
  description: `It burns the arcade’s own token, and is pending until it is activated. At most ${MOST_PENDING} that a wallet described within 7 days are pending.`,
  body: BurnEventTerms,
  returns: { 201: BurnEventView },
  fails: [409],
  idempotent: true,
  handler: ({ app, wallet, body, once }) =>
    once(async (tx) => {
      const event = await createEvent(app, tx, wallet, body);
      return reply(201, presentEvent(event), { Location: `/events/burn/${event.id}` });
    }),
});

const postActivate = route({
  method: 'post',
  path: '/events/burn/{id}/activate',
  auth: { sessionOrAdmin: 'content' },
  summary: 'Activate a burn event',
  description:
    'By the wallet that described it, if that is an organiser, or by an operator. One event is active at a time. 409: it is not pending, or another one is active.',
  params: BurnPath,
  returns: { 200: BurnEventView },
  fails: [403, 404, 409],
  handler: async ({ app, params, wallet }) => reply(200, presentEvent(await activateEvent(app, params.id, wallet))),
});

const postEnd = route({
  method: 'post',
  path: '/admin/burn/{id}/end',
  auth: { admin: 'content' },
  summary: 'End a burn event before its time',
  description: 'Burns in blocks before its end still count, whenever they become final. 409: it is not active.',
  params: BurnPath,
  returns: { 200: BurnEventView },
  fails: [404, 409],
  handler: async ({ app, params }) => reply(200, presentEvent(await endEvent(app, params.id))),
});

const getEvents = route({
  method: 'get',
  path: '/events/burn',
  auth: 'public',
  summary: 'The burn events that are active or were',
  description: 'The newest first.',
  query: PageQuery,
  returns: { 200: z.array(BurnEventView) },
  fails: [],
  cache: FRESH,
  handler: async ({ app, query }) => {
    const { events, total } = await readBegun(app.db, query.limit, query.offset);
    return reply(200, events.map(presentEvent), { 'X-Total-Count': String(total) });
  },
});

const getActive = route({
  method: 'get',
  path: '/events/burn/active',
  auth: 'public',
  summary: 'The burn event that burns count for',
  description: 'null where there is none.',
  returns: { 200: BurnEventView.nullable() },
  fails: [],
  cache: FRESH,
  handler: async ({ app }) => {
    const event = await readActive(app.db);
    return reply(200, event && presentEvent(event));
  },
});

const getEvent = route({
  method: 'get',
  path: '/events/burn/{id}',
  auth: 'public',
  summary: 'A burn event',
  params: BurnPath,
  returns: { 200: BurnEventView },
  fails: [404],
  cache: FRESH,
  handler: async ({ app, params }) => reply(200, presentEvent(await readEvent(app.db, params.id))),
});

async function list(app: App, id: string, board: BurnBoard, query: BurnBoardQuery, wallet: string | null) {
  if (query.around !== undefined && wallet === null) throw fail(401, 'around requires a session, sign in first');
  const event = await readEvent(app.db, id);
  const { limit, offset, around } = query;
  const { entries, total } = await readBoard(app, event.id, board, { limit, offset, around: around === undefined ? null : wallet });
  return reply(200, entries, { 'X-Total-Count': String(total), ...(around === undefined ? {} : OWN) });
}

const leaderboard = (board: BurnBoard, path: string, what: string) =>
  route({
    method: 'get',
    path: `/events/burn/{id}/leaderboard${path}`,
    auth: 'optional',
    summary: `The wallets of a burn event by ${what}`,
    description: 'Most first; wallets that burned the same share a rank and are listed by address, descending. Also after the event has ended.',
    params: BurnPath,
    query: BurnBoardQuery,
    returns: { 200: z.array(BurnStanding) },
    fails: [401, 404],
    cache: FRESH,
    handler: ({ app, params, query, wallet }) => list(app, params.id, board, query, wallet),
  });

const getRank = route({
  method: 'get',
  path: '/events/burn/{id}/rank',
  auth: 'session',
  summary: 'The caller’s place in a burn event',
  params: BurnPath,
  returns: { 200: BurnRank },
  fails: [404],
  handler: async ({ app, params, wallet }) => {
    const { id } = await readEvent(app.db, params.id);
    return reply(200, await readRank(app.db, id, wallet));
  },
});

export const burnRoutes = {
  public: [
    getEvents,
    getActive,
    getEvent,
    leaderboard('total', '', 'all that they burned'),
    leaderboard('referral', '/referrals', 'what they burned as referred wallets'),
    leaderboard('game', '/game', 'what they burned as players'),
    leaderboard('social', '/social', 'what they burned as linked wallets'),
  ],
  session: [postEvent, postActivate, getRank],
  admin: [postEnd],
};
