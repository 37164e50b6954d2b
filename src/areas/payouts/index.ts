/**
 * The public API of payouts: payments to wallets and their state.
 * The treasury pays in batches, one per lane (durable-nonce account) at a time; the orchestrator, an external service, pays the rest.
 */
export { payoutBatch } from './batches/transaction-type.ts';
export { type CreatedPayment, createPayments, type PaymentRequest, paymentId } from './create-payment.ts';
export { advanceNonce } from './lanes/advance.ts';
export { openPayoutLane } from './lanes/open.ts';
export {
  CURRENCIES,
  type Currency,
  PAYMENT_STATES,
  type Payment,
  type PaymentState,
  readOwedToWallet,
  readPayment,
  readPaymentsByCause,
  sumOwedByTreasury,
} from './payments.ts';
export { runPlanner, runReconciliation } from './planning/run.ts';
export { prepareReport } from './reports.ts';
