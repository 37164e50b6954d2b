import { getClaim, postClaim } from './claims.ts';
import { postImport, postTrigger } from './compute.ts';
import { configRoutes, putConfig } from './config.ts';
import { epochRoutes } from './epochs.ts';
import { postSettledOffChain } from './settlement.ts';
import { walletRoutes } from './wallets.ts';

/** The routes of rewards, grouped by caller. */
export const rewardRoutes = {
  public: [...epochRoutes, ...walletRoutes, ...configRoutes, getClaim],
  session: [postClaim],
  admin: [postTrigger, putConfig, postImport, postSettledOffChain],
};
