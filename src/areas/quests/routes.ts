import { adminRoutes } from './routes/admin.ts';
import { publicRoutes } from './routes/public.ts';
import { walletRoutes } from './routes/wallet.ts';

/** Quests and daily tasks. */
export const questRoutes = { public: publicRoutes, session: walletRoutes, admin: adminRoutes };
