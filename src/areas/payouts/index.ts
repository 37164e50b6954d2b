/**
 * The public API of the area payouts, which pays wallets and stores the state of each payment. The treasury pays in batches. A lane is a
 * durable-nonce account that one batch at a time uses. The orchestrator, an external service, makes all payments that the treasury does not make.
 */
export { type PublishedBatch, readPaidBatches } from './batches/published.ts';
export { payoutBatch } from './batches/transaction-type.ts';
export { type CreatedPayment, createPayments, type PaymentRequest, paymentId } from './create-payment.ts';
export { advanceNonce } from './lanes/advance.ts';
export { findForgottenLanes } from './lanes/forgotten.ts';
export { openPayoutLane } from './lanes/open.ts';
export {
  CURRENCIES,
  type Currency,
  listWalletPayments,
  PAYMENT_STATES,
  type Payment,
  type PaymentState,
  readOwedToWallet,
  readPayment,
  readPaymentsByCause,
  sumOwedByTreasury,
} from './payments.ts';
export { PENDING_PLANS, runPlanner, runReconciliation } from './planning/run.ts';
export { readIdentity } from './reconciliation/reconciliation.ts';
export type { DatabaseIdentity } from './reconciliation/rows.ts';
export { prepareReport } from './reports.ts';
export { PaymentView } from './schemas.ts';
