import type { AnyRoute } from '#platform/http/route.ts';
import { healthz, readyz } from '#platform/observability/health.ts';
import { adminRoutes } from './admin/routes/index.ts';
import { arcadeRoutes } from './arcade/routes/index.ts';
import { authRoutes } from './auth/routes.ts';
import { battleRoutes } from './battles/routes.ts';
import { burnRoutes } from './burns/routes.ts';
import { chatRoutes } from './chat/routes.ts';
import { clipRoutes } from './clips/routes.ts';
import { eventRoutes } from './events/routes.ts';
import { leaderboardRoutes } from './leaderboards/routes.ts';
import { lotteryRoutes } from './lottery/routes/index.ts';
import { payoutRoutes } from './payouts/routes/index.ts';
import { profileRoutes } from './profile/routes.ts';
import { questRoutes } from './quests/routes/index.ts';
import { referralRoutes } from './referrals/routes.ts';
import { rewardRoutes } from './rewards/routes/index.ts';
import { socialRoutes } from './social/routes.ts';
import { walletRoutes } from './wallets/routes.ts';

/** Every route of the service, grouped by who may call it: the map of the API on one screen. */
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
  ],
  session: [
    ...authRoutes.session,
    ...arcadeRoutes.session,
    ...leaderboardRoutes.session,
    ...walletRoutes.session,
    ...payoutRoutes.session,
    ...rewardRoutes.session,
  ],
  admin: [...adminRoutes.admin, ...arcadeRoutes.admin, ...rewardRoutes.admin],
  rounds: [...chatRoutes.public, ...chatRoutes.session, ...lotteryRoutes.public, ...lotteryRoutes.session],
  roundOperations: [...chatRoutes.admin, ...chatRoutes.webhooks, ...lotteryRoutes.admin],
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
    ...socialRoutes.webhooks,
    ...clipRoutes.public,
    ...clipRoutes.session,
    ...clipRoutes.admin,
  ],
  payouts: [...payoutRoutes.admin, ...payoutRoutes.webhooks],
};
