/** The door of payouts: what is owed, and how it goes. Money leaves through lanes of durable nonces, or by the orchestrator. */
export { payoutBatch } from './batches/transaction-type.ts';
export { type Debt, type Owed, owe, paymentId } from './create-payment.ts';
export { advanceNonce } from './lanes/advance.ts';
export { openPayoutLane } from './lanes/open.ts';
export {
  CURRENCIES,
  type Currency,
  listWallet,
  owedByTreasury,
  owedTo,
  PAYMENT_STATES,
  type Payment,
  type PaymentState,
  readPayment,
  readPayments,
} from './payments.ts';
export { runPlanner, runReconciliation } from './planning/run.ts';
export { prepareReport } from './reports.ts';
