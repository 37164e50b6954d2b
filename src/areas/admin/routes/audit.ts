import { z } from 'zod';
import { PageQuery } from '#lib/paging.ts';
import { listAdminAudit } from '#platform/auth/audit-log.ts';
import { reply, route } from '#platform/http/route.ts';
import { AuditEntry } from '../schemas.ts';

export const getAudit = route({
  method: 'get',
  path: '/admin/audit',
  auth: { admin: 'money' },
  summary: 'List requests with admin tokens, newest first',
  description:
    'The service records every request with an admin token except GET requests, and does so before it runs the request. Each entry contains the hash of the previous entry, so a check of the hashes detects a changed or deleted entry.',
  query: PageQuery,
  returns: { 200: z.array(AuditEntry) },
  fails: [],
  handler: async ({ app, query }) => {
    const { entries, total } = await listAdminAudit(app.db, query.limit, query.offset);
    return reply(200, entries, { 'X-Total-Count': String(total) });
  },
});

export const auditRoutes = [getAudit];
