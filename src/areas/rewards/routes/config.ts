import { expectedVersions, versionTag } from '#areas/arcade';
import { fail } from '#lib/errors.ts';
import { ApprovalView, presentApproval } from '#platform/auth/approval-view.ts';
import { reply, route } from '#platform/http/route.ts';
import { readRules, readRulesVersion, requestRules } from '../config.ts';
import { configView } from '../present.ts';
import { RewardsConfig, RulesPath, RulesRequest, RulesView } from '../schemas.ts';

const getConfig = route({
  method: 'get',
  path: '/config/rewards',
  auth: 'public',
  summary: 'Reward rules in force',
  returns: { 200: RewardsConfig },
  fails: [],
  cache: 'public, max-age=5',
  handler: async ({ app }) => reply(200, configView(app, await readRules(app.db))),
});

export const putConfig = route({
  method: 'put',
  path: '/admin/config/rewards',
  auth: { admin: 'money' },
  summary: 'Set the reward rules',
  description:
    'The rules apply to epochs that are created later. An epoch is created when its day closes, or later, and keeps the rules of that time. ' +
    'The ETag is the version of the rules. With If-Match, the request fails with 412 when the rules in force have another version. If the rules equal those in force, the version does not change. ' +
    'A higher pool or cap above the amount in APPROVALS gets the response 202 with an approval, and the rules are stored when a second token approves them.',
  body: RulesRequest,
  returns: { 200: RewardsConfig, 202: ApprovalView },
  fails: [412],
  handler: async ({ app, admin, body, ctx }) => {
    const stored = await app.tx((tx) => requestRules(app, tx, body, expectedVersions(ctx), admin));
    if ('requestedBy' in stored) return reply(202, presentApproval(stored), { Location: `/admin/approvals/${stored.id}` });
    return reply(200, configView(app, stored), { ETag: versionTag(stored.version) });
  },
});

const getRules = route({
  method: 'get',
  path: '/api/rewards/rules/{version}',
  auth: 'public',
  summary: 'Read a version of the reward rules',
  description: 'Each epoch names the version of its rules. A version never changes, so the response can be cached without a limit.',
  params: RulesPath,
  returns: { 200: RulesView },
  fails: [404],
  cache: 'public, max-age=31536000, immutable',
  handler: async ({ app, params }) => {
    const version = Number(params.version);
    const found = await readRulesVersion(app.db, version);
    if (!found) throw fail(404, `the reward rules have no version ${version}`);
    return reply(200, { version, ...found.rules, storedAt: found.storedAt });
  },
});

export const configRoutes = [getConfig, getRules];
