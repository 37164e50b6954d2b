import { z } from 'zod';
import { fail } from '#lib/errors.ts';
import { reply, route } from '#platform/http/route.ts';
import { startChatRound } from '../activate.ts';
import { createChatRound } from '../create.ts';
import { listRounds, RoundsQuery } from '../lists.ts';
import { readActiveChatRound, readRound } from '../rows.ts';
import { ChatRoundView, presentChatRound, RoundPath } from '../schemas.ts';
import { ChatRoundTerms } from '../terms.ts';
import { IMMUTABLE, REVALIDATE } from './cache-control.ts';

export const postRound = route({
  method: 'post',
  path: '/chat/round',
  auth: { admin: 'rounds' },
  summary: 'Create a chat round',
  description: 'The round is pending until it is started.',
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
    'Freezes the round’s parameters, reserves its prizes in the treasury, and opens it for entries. 409 when the round is not pending, another round is active, or the ' +
    'treasury’s free balance does not cover the prizes.',
  params: RoundPath,
  returns: { 200: ChatRoundView },
  fails: [404, 409],
  handler: async ({ app, params }) => reply(200, presentChatRound(await startChatRound(app, params.id))),
});

export const getActive = route({
  method: 'get',
  path: '/chat/round/active',
  auth: 'public',
  summary: 'The active chat round',
  description: 'The round that accepts entries, or null when no round is active.',
  returns: { 200: ChatRoundView.nullable() },
  fails: [],
  cache: REVALIDATE,
  handler: async ({ app }) => {
    const round = await readActiveChatRound(app.db);
    return reply(200, round ? presentChatRound(round) : null);
  },
});

export const getRounds = route({
  method: 'get',
  path: '/chat/rounds',
  auth: 'public',
  summary: 'List chat rounds, newest first',
  description: 'For example, `status=closing,committed` lists the rounds that are closed and not drawn yet.',
  query: RoundsQuery,
  returns: { 200: z.array(ChatRoundView) },
  fails: [],
  cache: REVALIDATE,
  handler: async ({ app, query }) => {
    const { rounds, total } = await listRounds(app.reads, 'chat', query);
    return reply(200, rounds.map(presentChatRound), { 'X-Total-Count': String(total) });
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
  cache: REVALIDATE,
  handler: async ({ app, params }) => {
    const round = await readRound(app.db, params.id, 'chat');
    if (!round) throw fail(404, 'there is no chat round with this id');
    return reply(200, presentChatRound(round), round.state === 'finalized' ? { 'Cache-Control': IMMUTABLE } : {});
  },
});

export const roundRoutes = { public: [getActive, getRounds, getRound], admin: [postRound, postStart] };
