import { restoreRoutes } from '../restores/routes.ts';
import { reviewRoutes } from '../review/routes.ts';
import { getClaim, getOwnClaims, postClaim } from './claims.ts';
import { postImport, postTrigger } from './compute.ts';
import { configRoutes, putConfig } from './config.ts';
import { epochRoutes } from './epochs.ts';
import { postSettledOffChain } from './settlement.ts';
import { walletRoutes } from './wallets.ts';

/** The routes of the area rewards, grouped by the callers that may use them. */
export const rewardRoutes = {
  public: [...epochRoutes, ...walletRoutes, ...configRoutes, ...reviewRoutes.public, getClaim],
  session: [getOwnClaims, postClaim],
  admin: [postTrigger, putConfig, postImport, postSettledOffChain, ...reviewRoutes.admin, ...restoreRoutes],
};
