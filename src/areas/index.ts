import type { AnyRoute } from '#platform/http/route.ts';
import { healthz, readyz } from '#platform/observability/health.ts';
import { actionRoutes } from './actions/routes.ts';
import { adminRoutes } from './admin/routes/index.ts';
import { appealRoutes } from './appeals/routes.ts';
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
import { privacyRoutes } from './privacy/routes.ts';
import { profileRoutes } from './profile/routes.ts';
import { questRoutes } from './quests/routes/index.ts';
import { referralRoutes } from './referrals/routes.ts';
import { rewardRoutes } from './rewards/routes/index.ts';
import { socialRoutes } from './social/routes.ts';
import { walletRoutes } from './wallets/routes.ts';

/** All routes of the service, grouped by the callers that may use them. A test in `test/contract` checks the group of each route. */
export const routes = {
  /** For all callers. Some responses contain more when the caller has a session. */
  public: [
    healthz,
    readyz,
    ...authRoutes.public,
    ...profileRoutes.public,
    ...walletRoutes.public,
    ...arcadeRoutes.public,
    ...battleRoutes.public,
    ...leaderboardRoutes.public,
    ...questRoutes.public,
    ...referralRoutes.public,
    ...rewardRoutes.public,
    ...payoutRoutes.public,
    ...lotteryRoutes.public,
    ...chatRoutes.public,
    ...burnRoutes.public,
    ...clipRoutes.public,
    ...socialRoutes.public,
    ...eventRoutes.public,
    ...actionRoutes.public,
  ],
  /** For signed-in wallets. */
  session: [
    ...authRoutes.session,
    ...appealRoutes.session,
    ...privacyRoutes.session,
    ...profileRoutes.session,
    ...walletRoutes.session,
    ...arcadeRoutes.session,
    ...battleRoutes.session,
    ...leaderboardRoutes.session,
    ...questRoutes.session,
    ...referralRoutes.session,
    ...rewardRoutes.session,
    ...payoutRoutes.session,
    ...lotteryRoutes.session,
    ...chatRoutes.session,
    ...burnRoutes.session,
    ...clipRoutes.session,
    ...socialRoutes.session,
  ],
  /** For internal services, and for operators whose admin token has the scope that the route requires. */
  admin: [
    ...adminRoutes.admin,
    ...appealRoutes.admin,
    ...privacyRoutes.admin,
    ...arcadeRoutes.admin,
    ...profileRoutes.admin,
    ...questRoutes.admin,
    ...rewardRoutes.admin,
    ...payoutRoutes.admin,
    ...lotteryRoutes.admin,
    ...chatRoutes.admin,
    ...burnRoutes.admin,
    ...clipRoutes.admin,
  ],
  /** For services that sign their deliveries. */
  webhooks: [...payoutRoutes.webhooks, ...chatRoutes.webhooks, ...socialRoutes.webhooks],
} as const satisfies { readonly [caller: string]: readonly AnyRoute[] };
