import { z } from 'zod';
import { forgetGames, type Game, loadGames } from '#areas/arcade';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { reply, route } from '#platform/http/route.ts';
import { type Battle, listActive, readBattle } from './rows.ts';
import { BattlePath, BattlesQuery, BattleTerms, BattleView, presentBattle } from './schemas.ts';
import { createBattle, joinBattle, MOST_OWN, startBattle } from './seats.ts';

/** A game; the registry is read anew for one that it does not hold yet. */
async function gameOf(app: App, id: string): Promise<Game | undefined> {
  const game = (await loadGames(app)).get(id);
  if (game) return game;
  forgetGames(app);
  return (await loadGames(app)).get(id);
}

async function present(app: App, battle: Battle) {
  const game = await gameOf(app, battle.gameId);
  if (!game) throw new Error(`game ${battle.gameId} is not there`);
  return presentBattle(battle, game);
}

export const postBattle = route({
  method: 'post',
  path: '/battle/create',
  auth: 'session',
  summary: 'Open a battle',
  description:
    'Its creator takes the first seat. It starts when all seats are taken, or when its creator says so; not started within an hour it expires. ' +
    `At most ${MOST_OWN} battles of a wallet are open or running at a time.`,
  body: BattleTerms,
  returns: { 201: BattleView },
  fails: [403, 404, 409],
  idempotent: true,
  handler: async ({ app, wallet, body, once }) => {
    const game = await gameOf(app, body.gameId);
    if (!game) throw fail(404, 'gameId must be a game of this arcade');
    return await once(async (tx) => {
      const battle = await createBattle(tx, wallet, body);
      return reply(201, presentBattle(battle, game), { Location: `/battle/${battle.id}` });
    });
  },
});

export const getActive = route({
  method: 'get',
  path: '/battle/active',
  auth: 'public',
  summary: 'Battles that can be joined or are in progress',
  description: 'Newest first.',
  query: BattlesQuery,
  returns: { 200: z.array(BattleView) },
  fails: [],
  cache: 'no-cache',
  handler: async ({ app, query }) => {
    const { battles, total } = await listActive(app.db, query.gameId, query.limit, query.offset);
    return reply(200, await Promise.all(battles.map((battle) => present(app, battle))), { 'X-Total-Count': String(total) });
  },
});

export const getBattle = route({
  method: 'get',
  path: '/battle/{id}',
  auth: 'public',
  summary: 'A battle',
  description:
    'Its participants, and what they have scored: the best normalized score of each that was accepted between start and end. A held score counts if it is accepted before ' +
    'the end, one that is taken back before the result does not; a result that is there stays. `battle_started` and `battle_result` tell of both as they happen.',
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

export const postJoin = route({
  method: 'post',
  path: '/battle/{id}/join',
  auth: 'session',
  summary: 'Take a seat in a battle',
  description:
    'The last seat starts it. Who has a seat already gets the battle as it is; a seat is not given back. 409 where it is full or not open.',
  params: BattlePath,
  returns: { 200: BattleView },
  fails: [403, 404, 409],
  handler: async ({ app, params, wallet }) => reply(200, await present(app, await app.tx((tx) => joinBattle(tx, wallet, params.id)))),
});

export const postStart = route({
  method: 'post',
  path: '/battle/{id}/start',
  auth: 'session',
  summary: 'Start a battle before all seats are taken',
  description:
    'By its creator, with two participants or more. It ends when its time is up, or when every participant has a score that counts; whoever has the best one wins.',
  params: BattlePath,
  returns: { 200: BattleView },
  fails: [403, 404, 409],
  handler: async ({ app, params, wallet }) => reply(200, await present(app, await app.tx((tx) => startBattle(tx, wallet, params.id)))),
});

/** The endpoints of battles, by who may call them. */
export const battleRoutes = { public: [getActive, getBattle], session: [postBattle, postJoin, postStart], admin: [] };
