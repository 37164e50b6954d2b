import { postImport, postTrigger } from './compute.ts';
import { configRoutes, putConfig } from './config.ts';
import { epochRoutes } from './epochs.ts';
import { walletRoutes } from './wallets.ts';

/** The endpoints of epochs, by who may call them. */
export const rewardRoutes = {
  public: [...epochRoutes, ...walletRoutes, ...configRoutes],
  admin: [postTrigger, putConfig, postImport],
};
