import { z } from 'zod';
import { archivedHeader } from '#areas/points';
import { PageQuery } from '#lib/paging.ts';
import type { App } from '#platform/app.ts';
import { reply, route } from '#platform/http/route.ts';
import { unrewardedGames } from '../facts.ts';
import { readGateBalances } from '../gates.ts';
import { readQuestEntries } from '../ledger.ts';
import type { Quest } from '../rows.ts';
import {
  CompleteTask,
  MultiplierView,
  OwnQuest,
  presentFactors,
  presentMultiplier,
  QuestEntry,
  QuestsQuery,
  TaskCompleted,
  TaskPending,
} from '../schemas.ts';
import { completeTask, openQuests, readHolding, readMultiplierInputs, readWalletQuests } from '../wallet-quests.ts';
import { inCategory, paged } from './public.ts';

/** Reads the inputs of the progress of a wallet that are not read in a transaction. */
async function readInputs(app: App, wallet: string, quests: readonly Quest[]) {
  const [unrewarded, balances] = await Promise.all([unrewardedGames(app), readGateBalances(app, quests, [wallet])]);
  return { unrewarded, balances };
}

const getOwnQuests = route({
  method: 'get',
  path: '/me/quests',
  auth: 'session',
  summary: 'List the open quests with the caller’s progress',
  description:
    'Progress includes all activities up to this request. A quest whose requirement is met is completed within a few seconds after the activity, the change or the start of the quest that met it. While the chain cannot be read, a completion waits for the token balance for up to an hour. Days are UTC.',
  query: QuestsQuery,
  returns: { 200: z.array(OwnQuest) },
  fails: [],
  handler: async ({ app, query, wallet }) => {
    const { page, headers } = paged(inCategory(await openQuests(app), query.category), query);
    return reply(200, await readWalletQuests(app, app.db, wallet, page, await readInputs(app, wallet, page), app.clock.now()), headers);
  },
});

const getMultiplier = route({
  method: 'get',
  path: '/me/quest-multiplier',
  auth: 'session',
  summary: 'Read the multiplier of the caller’s quest points, with its factors',
  description:
    'The multiplier is 1 plus the bonuses. Points are rounded down. The multiplier applies to quest points only. The token balance was read from the chain at most 60 s ago; `holding` is null when the RPC node does not answer within 5 s.',
  returns: { 200: MultiplierView },
  fails: [],
  handler: async ({ app, wallet }) => reply(200, presentMultiplier(await readMultiplierInputs(app, wallet), app.config.chain.rewardMint !== null)),
});

const getEntries = route({
  method: 'get',
  path: '/ledger/quests',
  auth: 'session',
  summary: 'List the caller’s points from quests',
  description: 'Newest first, both modes. Each entry contains the factors of its computation.',
  query: PageQuery,
  returns: { 200: z.array(QuestEntry) },
  archived: true,
  fails: [],
  handler: async ({ app, query, wallet }) => {
    const page = readQuestEntries(app.db, wallet, query.limit, query.offset);
    const [{ entries, total }, archived] = await Promise.all([page, archivedHeader(app.db)]);
    const shown = entries.map(({ factors, ...entry }) => ({ ...entry, factors: factors && presentFactors(factors) }));
    return reply(200, shown, { 'X-Total-Count': String(total), ...archived });
  },
});

const getTasks = route({
  method: 'get',
  path: '/api/tasks/daily',
  auth: 'session',
  summary: 'List the daily tasks with the caller’s progress',
  description: 'The caller can complete each task once per UTC day, with POST /api/tasks/daily/complete.',
  returns: { 200: z.array(OwnQuest) },
  fails: [],
  handler: async ({ app, wallet }) => {
    const tasks = await openQuests(app, { task: true });
    return reply(200, await readWalletQuests(app, app.db, wallet, tasks, await readInputs(app, wallet, tasks), app.clock.now()));
  },
});

const postTask = route({
  method: 'post',
  path: '/api/tasks/daily/complete',
  auth: 'session',
  summary: 'Complete a daily task',
  description:
    'taskId is the id of a daily task. 202: the token balance of the wallet, which decides about a bonus, cannot be read from the chain at the moment; the points follow as soon as it is known, without the bonus after an hour, and count for today. 400: the requirement or a gate is not met; the error says what is missing. 409: completed today already.',
  body: CompleteTask,
  returns: { 200: TaskCompleted, 202: TaskPending },
  fails: [400, 403, 404, 409],
  idempotent: true,
  handler: async ({ app, body, wallet, once }) => {
    const task = (await openQuests(app, { task: true })).filter(({ id }) => id === body.taskId);
    const [holdings, inputs] = await Promise.all([readHolding(app, wallet), readInputs(app, wallet, task)]);
    return await once(async (tx) => {
      const { award, task } = await completeTask(app, tx, wallet, body.taskId, { holdings, ...inputs });
      if (!award) return reply(202, { status: 'pending' as const, task }, { Location: '/api/tasks/daily' });
      return reply(200, { pointsAwarded: award.points, factors: presentFactors(award.factors), task });
    });
  },
});

export const walletRoutes = [getOwnQuests, getMultiplier, getEntries, getTasks, postTask];
