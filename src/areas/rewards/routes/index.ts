import { configRoutes, putConfig } from './config.ts';
import { epochRoutes } from './epochs.ts';
import { postImport, postTrigger } from './making.ts';
import { walletRoutes } from './wallets.ts';

/** The endpoints of epochs, by who may call them. */
export const rewardRoutes = {
  public: [...epochRoutes, ...walletRoutes, ...configRoutes],
  admin: [postTrigger, putConfig, postImport],
};
