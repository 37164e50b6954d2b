import { choosePlayerMode, type Mode, readPlayerMode } from '#areas/points';
import { fail } from '#lib/errors.ts';
import { ApprovalView, presentApproval } from '#platform/auth/approval-view.ts';
import { reply, route } from '#platform/http/route.ts';
import { convertOrRequest } from './approved-conversion.ts';
import { readBetaPoints, readBetaStats, readBreakdown, readProfile, readUserStats } from './present.ts';
import {
  BetaPoints,
  BetaPreference,
  BetaPreferenceRequest,
  BetaStats,
  ConversionRequest,
  ConversionResult,
  PointsBreakdown,
  Profile,
  UserPath,
  UserStats,
} from './schemas.ts';

const getProfile = route({
  method: 'get',
  path: '/api/profile',
  auth: 'session',
  forBanned: true,
  summary: 'Read the caller’s profile',
  description:
    'Points, rank, pending payments, linked accounts, games and sanctions. Waits at most 0.3 seconds for the RPC node. If the balance is not known by then, `tokenBalance` and `eligible` are null; `/eligibility` waits longer for them.',
  returns: { 200: Profile },
  fails: [],
  handler: async ({ app, wallet }) => reply(200, await readProfile(app, wallet)),
});

const getBetaPoints = route({
  method: 'get',
  path: '/api/profile/beta-points',
  auth: 'session',
  summary: 'Read the caller’s beta points',
  returns: { 200: BetaPoints },
  fails: [],
  handler: async ({ app, wallet }) => reply(200, await readBetaPoints(app, wallet)),
});

const getBetaStats = route({
  method: 'get',
  path: '/api/profile/beta-stats',
  auth: 'session',
  summary: 'Read the caller’s results in beta mode',
  description: 'No leaderboard includes beta points.',
  returns: { 200: BetaStats },
  fails: [],
  handler: async ({ app, wallet }) => reply(200, await readBetaStats(app, wallet)),
});

/**
 * Converts the mode of a player (regular or beta) into the response.
 * @throws 401 when `mode` is null: the database has no row of the wallet, so the session was created with another database
 */
function presentPreference(mode: Mode | null) {
  if (mode === null) throw fail(401, 'a session is required, sign in first');
  return { enabled: mode === 'beta' };
}

const getPreference = route({
  method: 'get',
  path: '/api/beta/preference',
  auth: 'session',
  summary: 'Read whether the caller plays in beta mode',
  returns: { 200: BetaPreference },
  fails: [],
  handler: async ({ app, wallet }) => reply(200, presentPreference(await readPlayerMode(app.db, wallet))),
});

const postPreference = route({
  method: 'post',
  path: '/api/beta/preference',
  auth: 'session',
  summary: 'Turn beta mode on or off',
  description:
    'Toggles the preference, or sets it to `enabled`. New points are then beta points or regular points. Public boards, ranks and epochs count regular points only. A held score keeps the mode of its submission.',
  body: BetaPreferenceRequest,
  returns: { 200: BetaPreference },
  fails: [],
  idempotent: true,
  handler: async ({ wallet, body, once }) => {
    const mode = body.enabled === undefined ? null : body.enabled ? 'beta' : 'regular';
    return await once(async (tx) => reply(200, presentPreference(await choosePlayerMode(tx, wallet, mode))));
  },
});

const getDebugPoints = route({
  method: 'get',
  path: '/debug/points',
  auth: 'session',
  summary: 'Read the caller’s points in both modes',
  description: 'Regular and beta points by source, period and game.',
  returns: { 200: PointsBreakdown },
  fails: [],
  handler: async ({ app, wallet }) => reply(200, await readBreakdown(app, wallet)),
});

const getUserStats = route({
  method: 'get',
  path: '/users/{wallet}/stats',
  auth: 'public',
  summary: 'Read the public stats of a wallet',
  description: 'Regular points only. 404 when the wallet never signed in.',
  params: UserPath,
  returns: { 200: UserStats },
  fails: [404],
  cache: 'public, max-age=5',
  handler: async ({ app, params }) => reply(200, await readUserStats(app, params.wallet)),
});

export const postConvert = route({
  method: 'post',
  path: '/api/beta/convert',
  auth: { admin: 'money' },
  summary: 'Convert a wallet’s beta points into regular points',
  description:
    'Converts all beta points that are not converted yet. The result is rounded down. It counts on all-time boards only, not for a period or an epoch. When the result is 0 points, nothing changes and `id` is null. ' +
    'Above the amount in APPROVALS, which counts the points that the token gave on the same day, the response is 202 with an approval, and a second token must approve it.',
  body: ConversionRequest,
  returns: { 200: ConversionResult, 202: ApprovalView },
  fails: [404, 409],
  idempotent: true,
  handler: async ({ app, body, admin, once }) =>
    await once(async (tx) => {
      const result = await convertOrRequest(app, tx, { ...body, by: admin });
      if ('converted' in result) return reply(200, result.converted);
      return reply(202, presentApproval(result.approval), { Location: `/admin/approvals/${result.approval.id}` });
    }),
});

/** The routes of profiles, beta mode and points, by caller. */
export const profileRoutes = {
  public: [getUserStats],
  session: [getProfile, getBetaPoints, getBetaStats, getPreference, postPreference, getDebugPoints],
  admin: [postConvert],
};
