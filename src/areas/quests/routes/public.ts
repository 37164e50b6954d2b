import { z } from 'zod';
import type { PageQuery } from '#lib/paging.ts';
import { reply, route } from '#platform/http/route.ts';
import type { Quest } from '../rows.ts';
import { presentQuest, QuestsQuery, QuestView } from '../schemas.ts';
import { openQuests } from '../wallet-quests.ts';

/** Returns one page of a list that was read as a whole. A list has at most 200 quests, so one statement reads all of them. */
export const paged = <T>(all: readonly T[], { limit, offset }: z.output<typeof PageQuery>) => ({
  page: all.slice(offset, offset + limit),
  headers: { 'X-Total-Count': String(all.length) },
});

/** Returns the quests of a category; all quests when `category` is undefined. */
export const inCategory = (quests: readonly Quest[], category: string | undefined): readonly Quest[] =>
  category === undefined ? quests : quests.filter(({ definition }) => definition.category === category);

const getQuests = route({
  method: 'get',
  path: '/quests',
  auth: 'public',
  summary: 'List the quests that can be completed at present',
  description: 'Includes daily tasks. Oldest first.',
  query: QuestsQuery,
  returns: { 200: z.array(QuestView) },
  fails: [],
  cache: 'no-cache',
  handler: async ({ app, query }) => {
    const { page, headers } = paged(inCategory(await openQuests(app), query.category), query);
    return reply(200, page.map(presentQuest), headers);
  },
});

export const publicRoutes = [getQuests];
