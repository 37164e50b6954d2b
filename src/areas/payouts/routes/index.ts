import { payoutAdminRoutes } from './operations.ts';
import { paymentAdminRoutes } from './payments.ts';
import { walletPaymentRoutes } from './wallets.ts';
import { postPaymentStatus } from './webhook.ts';

/** The endpoints of payments and payouts, by who may call them. */
export const payoutRoutes = {
  ...walletPaymentRoutes,
  admin: [...paymentAdminRoutes, ...payoutAdminRoutes],
  webhooks: [postPaymentStatus],
};
