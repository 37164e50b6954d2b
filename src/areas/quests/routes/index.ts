import { adminRoutes } from './admin.ts';
import { publicRoutes } from './public.ts';
import { walletRoutes } from './wallet.ts';

/** The routes of quests and daily tasks, by caller. */
export const questRoutes = { public: publicRoutes, session: walletRoutes, admin: adminRoutes };
