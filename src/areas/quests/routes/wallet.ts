import { z } from 'zod';
import { PageQuery } from '#lib/paging.ts';
import { reply, route } from '#platform/http/route.ts';
import { unrewardedGames } from '../facts.ts';
import { readQuestEntries } from '../ledger.ts';
import { CompleteTask, MultiplierView, OwnQuest, presentFactors, presentMultiplier, QuestEntry, QuestsQuery, TaskCompleted } from '../schemas.ts';
import { completeTask, glanceAtHolding, openQuests, ownQuests, standingOf } from '../wallet-quests.ts';
import { inCategory, paged } from './public.ts';

const getOwnQuests = route({
  method: 'get',
  path: '/me/quests',
  auth: 'session',
  summary: 'The quests with the caller’s progress',
  description: 'Progress counts what the caller did until this moment; a quest that is met by it is completed within about a second. Days are UTC.',
  query: QuestsQuery,
  returns: { 200: z.array(OwnQuest) },
  fails: [],
  handler: async ({ app, query, wallet }) => {
    const { page, headers } = paged(inCategory(await openQuests(app), query.category), query);
    return reply(200, await ownQuests(app.db, wallet, page, await unrewardedGames(app), app.clock.now()), headers);
  },
});

const getMultiplier = route({
  method: 'get',
  path: '/me/quest-multiplier',
  auth: 'session',
  summary: 'What the caller’s quest points are multiplied by, and why',
  description: '1 and what the factors add, at most 2; points are rounded down. It applies to quest points only.',
  returns: { 200: MultiplierView },
  fails: [],
  handler: async ({ app, wallet }) => reply(200, presentMultiplier(await standingOf(app, wallet))),
});

const getEntries = route({
  method: 'get',
  path: '/ledger/quests',
  auth: 'session',
  summary: 'What quests gave the caller',
  description: 'Newest first, in either mode; each entry keeps the factors that it was computed from.',
  query: PageQuery,
  returns: { 200: z.array(QuestEntry) },
  fails: [],
  handler: async ({ app, query, wallet }) => {
    const { entries, total } = await readQuestEntries(app.db, wallet, query.limit, query.offset);
    const shown = entries.map(({ factors, ...entry }) => ({ ...entry, factors: presentFactors(factors) }));
    return reply(200, shown, { 'X-Total-Count': String(total) });
  },
});

const getTasks = route({
  method: 'get',
  path: '/api/tasks/daily',
  auth: 'session',
  summary: 'The daily tasks, and which the caller has done today',
  description: 'Each can be completed once a UTC day, by the caller itself.',
  returns: { 200: z.array(OwnQuest) },
  fails: [],
  handler: async ({ app, wallet }) =>
    reply(200, await ownQuests(app.db, wallet, await openQuests(app, { task: true }), await unrewardedGames(app), app.clock.now())),
});

const postTask = route({
  method: 'post',
  path: '/api/tasks/daily/complete',
  auth: 'session',
  summary: 'Complete a daily task',
  description: 'taskId is the id of one of the daily tasks. 400: what is missing; 409: done today.',
  body: CompleteTask,
  returns: { 200: TaskCompleted },
  fails: [400, 403, 404, 409],
  idempotent: true,
  handler: async ({ app, body, wallet, once }) => {
    const [holdings, unrewarded] = await Promise.all([glanceAtHolding(app, wallet), unrewardedGames(app)]);
    return await once(async (tx) => {
      const { award, task } = await completeTask(tx, wallet, body.taskId, { holdings, unrewarded });
      return reply(200, { pointsAwarded: award.points, factors: presentFactors(award.factors), task });
    });
  },
});

export const walletRoutes = [getOwnQuests, getMultiplier, getEntries, getTasks, postTask];
