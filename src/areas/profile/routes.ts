import { choosePlayerMode, type Mode, readPlayerMode } from '#areas/points';
import { fail } from '#lib/errors.ts';
import { reply, route } from '#platform/http/route.ts';
import { convertBeta } from './convert.ts';
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
  summary: 'The caller’s profile',
  description:
    'Points, rank, what is owed, linked accounts, games. Does not wait for the chain: what it does not tell within 0.3 seconds is null here, and asked for at `/eligibility`.',
  returns: { 200: Profile },
  fails: [],
  handler: async ({ app, wallet }) => reply(200, await readProfile(app, wallet)),
});

const getBetaPoints = route({
  method: 'get',
  path: '/api/profile/beta-points',
  auth: 'session',
  summary: 'The caller’s beta points',
  returns: { 200: BetaPoints },
  fails: [],
  handler: async ({ app, wallet }) => reply(200, await readBetaPoints(app, wallet)),
});

const getBetaStats = route({
  method: 'get',
  path: '/api/profile/beta-stats',
  auth: 'session',
  summary: 'What the caller did in beta mode',
  description: 'Beta points are ranked nowhere.',
  returns: { 200: BetaStats },
  fails: [],
  handler: async ({ app, wallet }) => reply(200, await readBetaStats(app, wallet)),
});

/** @throws 401 where the record does not know the wallet: it is another one than the session’s */
function preference(mode: Mode | null) {
  if (mode === null) throw fail(401, 'a session is required, sign in first');
  return { enabled: mode === 'beta' };
}

const getPreference = route({
  method: 'get',
  path: '/api/beta/preference',
  auth: 'session',
  summary: 'Whether the caller plays in beta mode',
  returns: { 200: BetaPreference },
  fails: [],
  handler: async ({ app, wallet }) => reply(200, preference(await readPlayerMode(app.db, wallet))),
});

const postPreference = route({
  method: 'post',
  path: '/api/beta/preference',
  auth: 'session',
  summary: 'Turn beta mode on or off',
  description:
    'Toggles, or sets what `enabled` says. From then on new points are beta points, or regular ones again: public boards, ranks and epochs count regular points only. A score that is held goes to where it would have gone when it was submitted.',
  body: BetaPreferenceRequest,
  returns: { 200: BetaPreference },
  fails: [],
  idempotent: true,
  handler: async ({ wallet, body, once }) => {
    const mode = body.enabled === undefined ? null : body.enabled ? 'beta' : 'regular';
    return await once(async (tx) => reply(200, preference(await choosePlayerMode(tx, wallet, mode))));
  },
});

const getDebugPoints = route({
  method: 'get',
  path: '/debug/points',
  auth: 'session',
  summary: 'The caller’s points in both modes',
  description: 'Regular and beta points: by what they are from, by period, by game.',
  returns: { 200: PointsBreakdown },
  fails: [],
  handler: async ({ app, wallet }) => reply(200, await readBreakdown(app, wallet)),
});

const getUserStats = route({
  method: 'get',
  path: '/users/{wallet}/stats',
  auth: 'public',
  summary: 'What a wallet has achieved',
  description: 'Regular points only. 404 for a wallet that never signed in.',
  params: UserPath,
  returns: { 200: UserStats },
  fails: [404],
  cache: 'public, max-age=5',
  handler: async ({ app, params }) => reply(200, await readUserStats(app, params.wallet)),
});

const postConvert = route({
  method: 'post',
  path: '/api/beta/convert',
  auth: { admin: 'money' },
  summary: 'Make a wallet’s beta points regular ones',
  description:
    'Converts all beta points that were not converted yet, each once; the result is rounded down. It counts on all-time boards only, never for a period or an epoch. Where nothing is left, or nothing would come of it, nothing happens: `id` is null.',
  body: ConversionRequest,
  returns: { 200: ConversionResult },
  fails: [404, 409],
  idempotent: true,
  handler: async ({ body, admin, once }) => await once(async (tx) => reply(200, await convertBeta(tx, { ...body, by: admin }))),
});

/** What a wallet has: profile, beta mode, points. */
export const profileRoutes = {
  public: [getUserStats],
  session: [getProfile, getBetaPoints, getBetaStats, getPreference, postPreference, getDebugPoints],
  admin: [postConvert],
};
