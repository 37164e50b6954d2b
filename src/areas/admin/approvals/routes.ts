import { z } from 'zod';
import { PageQuery } from '#lib/paging.ts';
import { Id } from '#lib/scalars.ts';
import { APPROVAL_STATES, ApprovalView, presentApproval } from '#platform/auth/approval-view.ts';
import { decideApproval, listApprovals, readApproval } from '#platform/auth/approvals.ts';
import { reply, route } from '#platform/http/route.ts';
import { ACTIONS } from './actions.ts';

const Path = z.object({ id: Id.meta({ description: 'The id of the approval.' }) });
const Filter = PageQuery.extend({ state: z.enum(APPROVAL_STATES).default('pending').meta({ description: 'Lists approvals in this state only.' }) });

export const getApprovals = route({
  method: 'get',
  path: '/admin/approvals',
  auth: { admin: 'money' },
  summary: 'List actions that wait for the approval of a second token, or were decided',
  description: 'Newest first.',
  query: Filter,
  returns: { 200: z.array(ApprovalView) },
  fails: [],
  handler: async ({ app, query }) => {
    const { approvals, total } = await listApprovals(app.db, query.state, query.limit, query.offset);
    return reply(200, approvals.map(presentApproval), { 'X-Total-Count': String(total) });
  },
});

export const getApproval = route({
  method: 'get',
  path: '/admin/approvals/{id}',
  auth: { admin: 'money' },
  summary: 'Read an approval',
  params: Path,
  returns: { 200: ApprovalView },
  fails: [404],
  handler: async ({ app, params }) => reply(200, presentApproval(await readApproval(app.db, params.id))),
});

export const postApprove = route({
  method: 'post',
  path: '/admin/approvals/{id}/approve',
  auth: { admin: 'money' },
  summary: 'Approve an action that another token requested',
  description:
    'Carries the action out, once. A repeated approval changes nothing. 403: the token requested the action itself. 409: the action was refused, was requested more than 72 hours ago, or cannot be carried out any more.',
  params: Path,
  returns: { 200: ApprovalView },
  fails: [403, 404, 409],
  handler: async ({ app, admin, params }) =>
    reply(200, presentApproval(await decideApproval(app, params.id, 'approved', admin, (tx, action) => ACTIONS[action.kind].approve(tx, action)))),
});

export const postRefuse = route({
  method: 'post',
  path: '/admin/approvals/{id}/refuse',
  auth: { admin: 'money' },
  summary: 'Refuse an action that waits for an approval',
  description: 'The token that requested the action may refuse it too. A repeated refusal changes nothing. 409: the action was approved.',
  params: Path,
  returns: { 200: ApprovalView },
  fails: [404, 409],
  handler: async ({ app, admin, params }) =>
    reply(200, presentApproval(await decideApproval(app, params.id, 'refused', admin, (tx, action) => ACTIONS[action.kind].refuse(tx, action)))),
});

/** Endpoints for actions that need the approval of a second token. */
export const approvalRoutes = [getApprovals, getApproval, postApprove, postRefuse];
