import { z } from 'zod';
import { PageQuery } from '#lib/paging.ts';
import { listAudit } from '#platform/auth/audit-log.ts';
import { reply, route } from '#platform/http/route.ts';
import { AuditEntry } from './schemas.ts';

export const getAudit = route({
  method: 'get',
  path: '/admin/audit',
  auth: { admin: 'money' },
  summary: 'What was done with admin tokens, newest first',
  description:
    'Every action is written down before it is carried out, each entry hashed with the one before: nobody can change or remove one unnoticed.',
  query: PageQuery,
  returns: { 200: z.array(AuditEntry) },
  fails: [],
  handler: async ({ app, query }) => {
    const { entries, total } = await listAudit(app.db, query.limit, query.offset);
    return reply(200, entries, { 'X-Total-Count': String(total) });
  },
});
