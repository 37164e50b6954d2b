import { z } from 'zod';
import { PageQuery } from '#lib/paging.ts';
import { endSession } from '#platform/auth/sessions.ts';
import { reply, route, stream } from '#platform/http/route.ts';
import { requestDeletion } from './delete.ts';
import { erase, listErasures } from './erase.ts';
import { EXPORTS_PER_HOUR, exportWallet } from './export.ts';
import { ErasureRequest, ErasureView } from './schemas.ts';

const getExport = route({
  method: 'get',
  path: '/me/export',
  auth: 'session',
  load: 'costly',
  forBanned: true,
  summary: 'Download everything that is stored about the caller, as NDJSON',
  description: `One line \`{ table, row }\` per row. Secrets, hashes of requests and names of operators are left out. At most ${EXPORTS_PER_HOUR} times an hour.`,
  returns: { 200: stream('application/x-ndjson') },
  fails: [429],
  handler: async ({ app, wallet, ctx }) => {
    const body = await exportWallet(app, ctx, wallet);
    return reply(200, body, { 'Content-Disposition': `attachment; filename="coinop-${wallet}.ndjson"` });
  },
});

const deleteMe = route({
  method: 'delete',
  path: '/me',
  auth: 'session',
  forBanned: true,
  summary: 'Delete the caller’s account',
  description:
    'Ends all sessions, and deletes names, linked accounts, saved states, contents of game records, clips, texts of chat messages and appeals; a job does this within minutes. The address of the wallet stays with its scores, points, entries, claims and payments, because boards, draws and the chain contain it. ' +
    'A ban stays. The wallet may sign in again; it keeps its points.',
  returns: { 202: null },
  fails: [],
  handler: async ({ app, wallet, ctx }) => {
    await app.tx((tx) => requestDeletion(tx, wallet));
    await endSession(app, ctx);
    return reply(202, null);
  },
});

const postErasure = route({
  method: 'post',
  path: '/admin/erasures',
  auth: { admin: 'moderation' },
  summary: 'Erase content on a lawful request',
  description:
    'Erases the content and logs the erasure. Hash chains of records and entries can still be verified, because they cover only hashes. Erasing again does no harm. 404: there is no such content.',
  body: ErasureRequest,
  returns: { 201: ErasureView },
  fails: [404],
  idempotent: true,
  handler: async ({ body, admin, once }) => await once(async (tx) => reply(201, await erase(tx, body, admin))),
});

const getErasures = route({
  method: 'get',
  path: '/admin/erasures',
  auth: { admin: 'moderation' },
  summary: 'List erasures, newest first',
  query: PageQuery,
  returns: { 200: z.array(ErasureView) },
  fails: [],
  handler: async ({ app, query: { limit, offset } }) => {
    const { erasures, total } = await listErasures(app.db, limit, offset);
    return reply(200, erasures, { 'X-Total-Count': String(total) });
  },
});

/** The endpoints of privacy, grouped by the callers that may use them. */
export const privacyRoutes = { session: [getExport, deleteMe], admin: [postErasure, getErasures] };
