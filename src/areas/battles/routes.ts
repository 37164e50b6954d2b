import { z } from 'zod';
import { type Game, invalidateGames, loadGames } from '#areas/arcade';
import { fail } from '#lib/errors.ts';
import { PageQuery } from '#lib/paging.ts';
import type { App } from '#platform/app.ts';
import { reply, route } from '#platform/http/route.ts';
import { type Battle, listActive, listOwn, readBattle } from './rows.ts';
import { BattlePath, BattlesQuery, BattleTerms, BattleView, presentBattle } from './schemas.ts';
import { createBattle, joinBattle, MAX_OWN_BATTLES, startBattle } from './seats.ts';

/** Finds a game. Reloads the registry of games if the game is missing. */
async function findGameOf(app: App, id: string): Promise<Game | undefined> {
  const game = (await loadGames(app)).get(id);
  if (game) return game;
  invalidateGames(app);
  return (await loadGames(app)).get(id);
}

async function present(app: App, battle: Battle) {
  const game = await findGameOf(app, battle.gameId);
  if (!game) throw new Error(`game ${battle.gameId} is not in the registry`);
  return presentBattle(battle, game);
}

const postBattle = route({
  method: 'post',
  path: '/battle/create',
  auth: 'session',
  summary: 'Open a battle',
  description:
    'The creator takes the first seat. The battle starts when all seats are taken, or when its creator starts it. It expires if it does not start within an hour. ' +
    `A wallet can have at most ${MAX_OWN_BATTLES} open or running battles that it created.`,
  body: BattleTerms,
  returns: { 201: BattleView },
  fails: [403, 404, 409],
  idempotent: true,
  handler: async ({ app, wallet, body, once }) => {
    const game = await findGameOf(app, body.gameId);
    if (!game) throw fail(404, 'gameId must be a game of this arcade');
    return await once(async (tx) => {
      const battle = await createBattle(tx, wallet, body);
      return reply(201, presentBattle(battle, game), { Location: `/battle/${battle.id}` });
    });
  },
});

const getActive = route({
  method: 'get',
  path: '/battle/active',
  auth: 'public',
  summary: 'List open and running battles, newest first',
  query: BattlesQuery,
  returns: { 200: z.array(BattleView) },
  fails: [],
  cache: 'no-cache',
  handler: async ({ app, query }) => {
    const { battles, total } = await listActive(app.db, query.gameId, query.limit, query.offset);
    return reply(200, await Promise.all(battles.map((battle) => present(app, battle))), { 'X-Total-Count': String(total) });
  },
});

const getBattle = route({
  method: 'get',
  path: '/battle/{id}',
  auth: 'public',
  summary: 'Read a battle',
  description:
    'Lists the participants with the best normalized score of each that was accepted between start and end. A held score counts if it is accepted before ' +
    'the end. A score that is voided before the result does not count. A result never changes. The events `battle_created`, `battle_joined`, `battle_started`, `battle_result` and `battle_expired` announce each change.',
  params: BattlePath,
  returns: { 200: BattleView },
  fails: [404],
  cache: 'no-cache',
  handler: async ({ app, params }) => {
    const battle = await readBattle(app.db, params.id);
    if (!battle) throw fail(404, 'no such battle');
    return reply(200, await present(app, battle));
  },
});

const getOwn = route({
  method: 'get',
  path: '/me/battles',
  auth: 'session',
  summary: 'List the battles in which the caller has a seat, newest first',
  description: 'Lists battles of every status.',
  query: PageQuery,
  returns: { 200: z.array(BattleView) },
  fails: [],
  handler: async ({ app, query, wallet }) => {
    const { battles, total } = await listOwn(app.db, wallet, query.limit, query.offset);
    return reply(200, await Promise.all(battles.map((battle) => present(app, battle))), { 'X-Total-Count': String(total) });
  },
});

const postJoin = route({
  method: 'post',
  path: '/battle/{id}/join',
  auth: 'session',
  summary: 'Take a seat in a battle',
  description:
    'Taking the last seat starts the battle. A wallet that has a seat already gets the battle unchanged. A wallet cannot give its seat back. 409 if the battle is full or not open.',
  params: BattlePath,
  returns: { 200: BattleView },
  fails: [403, 404, 409],
  handler: async ({ app, params, wallet }) => reply(200, await present(app, await app.tx((tx) => joinBattle(tx, wallet, params.id)))),
});

const postStart = route({
  method: 'post',
  path: '/battle/{id}/start',
  auth: 'session',
  summary: 'Start a battle before all seats are taken',
  description:
    'Only the creator can start the battle, and it needs at least two participants. It ends when its time is over, or when every participant has a score that counts. The best score wins.',
  params: BattlePath,
  returns: { 200: BattleView },
  fails: [403, 404, 409],
  handler: async ({ app, params, wallet }) => reply(200, await present(app, await app.tx((tx) => startBattle(tx, wallet, params.id)))),
});

/** The endpoints of battles, grouped by the callers that may use them. */
export const battleRoutes = { public: [getActive, getBattle], session: [getOwn, postBattle, postJoin, postStart] };
