import { healthz, readyz } from '../http/operations.ts';
import type { AnyRoute } from '../http/route.ts';
import { postBan, postUnban } from './admin/bans.ts';
import { adminRoutes } from './admin/routes.ts';
import { arcadeRoutes } from './arcade/routes/index.ts';
import { getHeldScores, postDecision, postScore, postVoid } from './arcade/scores/routes.ts';
import { authRoutes } from './auth/routes.ts';
import { eventRoutes } from './events/routes.ts';
import { leaderboardRoutes } from './leaderboards/routes.ts';

/** Every route of the service, by who may call it: the map of the API on one screen. */
export const routes: { readonly [tier: string]: readonly AnyRoute[] } = {
  public: [healthz, readyz, ...authRoutes.public, ...arcadeRoutes.public, ...eventRoutes.public, ...leaderboardRoutes.public],
  session: [...authRoutes.session, ...arcadeRoutes.session, ...leaderboardRoutes.session, postScore],
  admin: [...adminRoutes, getHeldScores, postDecision, postVoid, postBan, postUnban],
};
