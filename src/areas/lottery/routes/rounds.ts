import { fail } from '#lib/errors.ts';
import { reply, route } from '#platform/http/route.ts';
import { startChatRound } from '../activate.ts';
import { createChatRound } from '../create.ts';
import { readActiveChatRound, readRound } from '../rows.ts';
import { ChatRoundTerms, ChatRoundView, presentChatRound, RoundPath } from '../schemas.ts';

/** What may change is asked for anew each time; what never does is kept. */
const FRESH = 'no-cache';
const FOREVER = 'public, max-age=31536000, immutable';

export const postRound = route({
  method: 'post',
  path: '/chat/round',
  auth: { admin: 'rounds' },
  summary: 'Describe a chat round',
  description: 'It is pending until it is started.',
  body: ChatRoundTerms,
  returns: { 201: ChatRoundView },
  fails: [],
  idempotent: true,
  handler: async ({ body, admin, once }) => await once(async (tx) => reply(201, presentChatRound(await createChatRound(tx, body, admin)))),
});

export const postStart = route({
  method: 'post',
  path: '/chat/round/{id}/start',
  auth: { admin: 'rounds' },
  summary: 'Start a chat round',
  description:
    'Its parameters are frozen, its prizes reserved in the treasury, and entries are accepted. 409: it is not pending, another round is active, or the treasury does not hold ' +
    'the prizes beside what it owes and what is reserved for others.',
  params: RoundPath,
  returns: { 200: ChatRoundView },
  fails: [404, 409],
  handler: async ({ app, params }) => reply(200, presentChatRound(await startChatRound(app, params.id))),
});

export const getActive = route({
  method: 'get',
  path: '/chat/round/active',
  auth: 'public',
  summary: 'The chat round that takes entries',
  description: 'null where there is none.',
  returns: { 200: ChatRoundView.nullable() },
  fails: [],
  cache: FRESH,
  handler: async ({ app }) => {
    const round = await readActiveChatRound(app.db);
    return reply(200, round ? presentChatRound(round) : null);
  },
});

export const getRound = route({
  method: 'get',
  path: '/chat/round/{id}',
  auth: 'public',
  summary: 'A chat round',
  params: RoundPath,
  returns: { 200: ChatRoundView },
  fails: [404],
  cache: FRESH,
  handler: async ({ app, params }) => {
    const round = await readRound(app.db, params.id, 'chat');
    if (!round) throw fail(404, 'there is no such chat round');
    return reply(200, presentChatRound(round), round.state === 'finalized' ? { 'Cache-Control': FOREVER } : {});
  },
});

export const roundRoutes = { public: [getActive, getRound], session: [], admin: [postRound, postStart] };
