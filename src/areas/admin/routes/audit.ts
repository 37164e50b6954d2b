import { z } from 'zod';
import { PageQuery } from '#lib/paging.ts';
import { exportAdminAudit, listAdminAudit } from '#platform/auth/audit-log.ts';
import { jsonOrStream, reply, route } from '#platform/http/route.ts';
import { AuditEntry } from '../schemas.ts';

const AuditQuery = PageQuery.extend({
  format: z.enum(['json', 'ndjson'], 'must be json or ndjson').default('json').meta({
    description: 'ndjson: the whole log as a file, oldest entry first, one per line; `limit` and `offset` are ignored.',
  }),
  after: z.coerce.number().int().min(0).default(0).meta({
    description: 'With `format=ndjson`: number of the entry after which the file begins, to continue an earlier export.',
    example: 0,
  }),
});

export const getAudit = route({
  method: 'get',
  path: '/admin/audit',
  auth: { admin: 'money' },
  load: 'costly',
  summary: 'List requests with admin tokens, newest first',
  description:
    'The service records every request with an admin token except GET requests, and does so before it runs the request. Each entry contains the hash of the previous entry, so a check of the hashes detects a changed or deleted entry. With `format=ndjson`, the response has all entries as a file.',
  query: AuditQuery,
  returns: { 200: jsonOrStream(z.array(AuditEntry), 'application/x-ndjson') },
  fails: [],
  handler: async ({ app, query }) => {
    if (query.format === 'ndjson') return reply(200, await exportAdminAudit(app.db, query.after));
    const { entries, total } = await listAdminAudit(app.db, query.limit, query.offset);
    return reply(200, entries, { 'X-Total-Count': String(total) });
  },
});

export const auditRoutes = [getAudit];
