import { payoutAdminRoutes } from './operations.ts';
import { paymentAdminRoutes } from './payments.ts';
import { myPayments, pendingUsdc } from './wallets.ts';
import { postPaymentStatus } from './webhook.ts';

/** The routes of the area payouts, grouped by the callers that may use them. */
export const payoutRoutes = {
  public: [pendingUsdc],
  session: [myPayments],
  admin: [...paymentAdminRoutes, ...payoutAdminRoutes],
  webhooks: [postPaymentStatus],
};
