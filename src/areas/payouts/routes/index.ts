import { payoutAdminRoutes } from './operations.ts';
import { paymentAdminRoutes } from './payments.ts';
import { myPayments, pendingUsdc } from './wallets.ts';
import { postPaymentStatus } from './webhook.ts';

/** The routes of payments and payouts, grouped by caller. */
export const payoutRoutes = {
  public: [pendingUsdc],
  session: [myPayments],
  admin: [...paymentAdminRoutes, ...payoutAdminRoutes],
  webhooks: [postPaymentStatus],
};
