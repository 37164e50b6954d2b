import { expectedVersions, versionTag } from '#areas/arcade';
import { reply, route } from '#platform/http/route.ts';
import { putRules, readRules } from '../config.ts';
import { configView } from '../present.ts';
import { RewardsConfig, RulesRequest } from '../schemas.ts';

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
    'The ETag is the version of the rules. With If-Match, the request fails with 412 when the rules in force have another version. If the rules equal those in force, the version does not change.',
  body: RulesRequest,
  returns: { 200: RewardsConfig },
  fails: [412],
  handler: async ({ app, body, ctx }) => {
    const stored = await app.tx((tx) => putRules(tx, body, expectedVersions(ctx)));
    return reply(200, configView(app, stored), { ETag: versionTag(stored.version) });
  },
});

export const configRoutes = [getConfig];
