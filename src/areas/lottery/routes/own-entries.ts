import { z } from 'zod';
import { PageQuery } from '#lib/paging.ts';
import { reply, route } from '#platform/http/route.ts';
import { listOwnEntries, OwnEntry } from '../own-entries.ts';

export const getOwnEntries = route({
  method: 'get',
  path: '/me/entries',
  auth: 'session',
  summary: 'List the caller’s chat entries and tickets, newest first',
  description: 'Entries of chat rounds, and tickets of legacy rounds with every status.',
  query: PageQuery,
  returns: { 200: z.array(OwnEntry) },
  fails: [],
  handler: async ({ app, wallet, query }) => {
    const { entries, total } = await listOwnEntries(app.db, wallet, query.limit, query.offset);
    return reply(200, entries, { 'X-Total-Count': String(total) });
  },
});
