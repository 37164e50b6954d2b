import { adminRoutes } from './admin.ts';
import { publicRoutes } from './public.ts';
import { walletRoutes } from './wallet.ts';

/** The endpoints of quests and daily tasks, grouped by the callers that may use them. */
export const questRoutes = { public: publicRoutes, session: walletRoutes, admin: adminRoutes };
