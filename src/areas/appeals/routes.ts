import { z } from 'zod';
import { PageQuery } from '#lib/paging.ts';
import { reply, route } from '#platform/http/route.ts';
import { appeal, decideAppeal, listAppeals, listOwnAppeals, MAX_OPEN } from './appeals.ts';
import { AppealDecision, AppealPath, AppealRequest, AppealsQuery, AppealView, OwnAppeal } from './schemas.ts';

const postAppeal = route({
  method: 'post',
  path: '/me/appeals',
  auth: 'session',
  forBanned: true,
  summary: 'Answer a decision that concerns the caller',
  description:
    `A decision can be answered once (409). A wallet may have at most ${MAX_OPEN} open appeals (409). 404: there is no such decision. ` +
    '`GET /me/scores`, `/me/clips`, `/me/chat/messages` and the sanctions of the profile show decisions with their reasons.',
  body: AppealRequest,
  returns: { 201: OwnAppeal },
  fails: [404, 409],
  idempotent: true,
  handler: async ({ wallet, body, once }) => await once(async (tx) => reply(201, await appeal(tx, wallet, body))),
});

const getOwnAppeals = route({
  method: 'get',
  path: '/me/appeals',
  auth: 'session',
  forBanned: true,
  summary: 'List the caller’s appeals, newest first',
  query: PageQuery,
  returns: { 200: z.array(OwnAppeal) },
  fails: [],
  handler: async ({ app, wallet, query: { limit, offset } }) => {
    const { appeals, total } = await listOwnAppeals(app.db, wallet, limit, offset);
    return reply(200, appeals, { 'X-Total-Count': String(total) });
  },
});

const getAppeals = route({
  method: 'get',
  path: '/admin/appeals',
  auth: { admin: 'moderation' },
  summary: 'List appeals',
  description: 'Open appeals oldest first; decided ones newest first. `GET /admin/scores` shows the appeal beside each score.',
  query: AppealsQuery,
  returns: { 200: z.array(AppealView) },
  fails: [],
  handler: async ({ app, query }) => {
    const { appeals, total } = await listAppeals(app.db, query);
    return reply(200, appeals, { 'X-Total-Count': String(total) });
  },
});

const postDecision = route({
  method: 'post',
  path: '/admin/appeals/{id}/decision',
  auth: { admin: 'moderation' },
  summary: 'Answer an appeal',
  description:
    'Stores the answer for the wallet. The decision itself changes only by its own endpoint, such as `POST /admin/scores/{id}/restore` or `POST /admin/wallets/{wallet}/unban`. ' +
    'A repeated request changes nothing. 409: the appeal was decided otherwise.',
  params: AppealPath,
  body: AppealDecision,
  returns: { 200: AppealView },
  fails: [404, 409],
  handler: async ({ app, admin, params, body }) => reply(200, await app.tx((tx) => decideAppeal(tx, params.id, body, admin))),
});

/** The endpoints of appeals, grouped by the callers that may use them. */
export const appealRoutes = { session: [postAppeal, getOwnAppeals], admin: [getAppeals, postDecision] };
