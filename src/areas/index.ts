import type { AnyRoute } from '#platform/http/route.ts';
import { healthz, readyz } from '#platform/observability/health.ts';
import { arcadeOperations } from './admin/arcade.ts';
import { getAudit } from './admin/audit.ts';
import { postBan, postUnban } from './admin/bans.ts';
import { adminRoutes } from './admin/routes.ts';
import { webhookOperations } from './admin/webhooks.ts';
import { arcadeRoutes } from './arcade/routes/index.ts';
import { getHeldScores, postDecision, postScore, postVoid } from './arcade/scores/routes.ts';
import { authRoutes } from './auth/routes.ts';
import { battleRoutes } from './battles/routes.ts';
import { burnRoutes } from './burns/routes.ts';
import { chatRoutes } from './chat/routes.ts';
import { clipRoutes } from './clips/routes.ts';
import { eventRoutes } from './events/routes.ts';
import { leaderboardRoutes } from './leaderboards/routes.ts';
import { legacyRoutes } from './lottery/legacy/routes.ts';
import { roundResultRoutes } from './lottery/routes/results.ts';
import { roundRoutes } from './lottery/routes/rounds.ts';
import { schedulerRoutes } from './lottery/scheduler/routes.ts';
import { socialRoundRoutes } from './lottery/social/routes.ts';
import { payoutRoutes } from './payouts/routes/index.ts';
import { profileRoutes } from './profile/routes.ts';
import { questRoutes } from './quests/routes.ts';
import { referralRoutes } from './referrals/routes.ts';
import { getClaim, postClaim } from './rewards/routes/claims.ts';
import { rewardRoutes } from './rewards/routes/index.ts';
import { postSettledOffChain } from './rewards/routes/settle.ts';
import { engagementRoutes } from './social/engagement/routes.ts';
import { socialRoutes } from './social/routes.ts';
import { walletRoutes } from './wallets/routes.ts';

/** Every route of the service, by who may call it: the map of the API on one screen. */
export const routes: { readonly [tier: string]: readonly AnyRoute[] } = {
  public: [
    healthz,
    readyz,
    ...authRoutes.public,
    ...arcadeRoutes.public,
    ...eventRoutes.public,
    ...leaderboardRoutes.public,
    ...walletRoutes.public,
    ...payoutRoutes.public,
    ...rewardRoutes.public,
    getClaim,
  ],
  session: [
    ...authRoutes.session,
    ...arcadeRoutes.session,
    ...leaderboardRoutes.session,
    ...walletRoutes.session,
    ...payoutRoutes.session,
    postScore,
    postClaim,
  ],
  admin: [...adminRoutes, getHeldScores, postDecision, postVoid, postBan, postUnban, ...rewardRoutes.admin, postSettledOffChain],
  rounds: [
    ...chatRoutes.public,
    ...chatRoutes.session,
    ...roundRoutes.public,
    ...roundResultRoutes.public,
    ...legacyRoutes.public,
    ...legacyRoutes.session,
    ...socialRoundRoutes.public,
  ],
  roundOperations: [...chatRoutes.admin, ...chatRoutes.webhooks, ...roundRoutes.admin, ...schedulerRoutes.admin],
  growth: [
    ...referralRoutes.public,
    ...referralRoutes.session,
    ...questRoutes.public,
    ...questRoutes.session,
    ...questRoutes.admin,
    ...profileRoutes.public,
    ...profileRoutes.session,
    ...profileRoutes.admin,
  ],
  community: [
    ...battleRoutes.public,
    ...battleRoutes.session,
    ...burnRoutes.public,
    ...burnRoutes.session,
    ...burnRoutes.admin,
    ...socialRoutes.public,
    ...socialRoutes.session,
    ...engagementRoutes.public,
    ...engagementRoutes.webhooks,
    ...clipRoutes.public,
    ...clipRoutes.session,
    ...clipRoutes.admin,
  ],
  operations: [...arcadeOperations, ...webhookOperations, getAudit],
  payouts: [...payoutRoutes.admin, ...payoutRoutes.webhooks],
};
