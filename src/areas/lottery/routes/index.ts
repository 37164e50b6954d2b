import { legacyRoutes } from '../legacy/routes.ts';
import { restrictionRoutes } from '../restrictions/routes.ts';
import { schedulerRoutes } from '../scheduler/routes.ts';
import { socialRoundRoutes } from '../social/routes.ts';
import { getOwnEntries } from './own-entries.ts';
import { roundResultRoutes } from './results.ts';
import { roundRoutes } from './rounds.ts';

/** The lottery's endpoints, grouped by who may call them. */
export const lotteryRoutes = {
  public: [...roundRoutes.public, ...roundResultRoutes, ...legacyRoutes.public, ...socialRoundRoutes],
  session: [...legacyRoutes.session, getOwnEntries, ...restrictionRoutes],
  admin: [...roundRoutes.admin, ...schedulerRoutes],
};
