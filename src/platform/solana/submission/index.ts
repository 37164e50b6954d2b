/** The public API of submission: signs transactions, stores them, sends them and polls them until they are final or expired. */

export { askSecond, DENIAL_SLOTS, keepAgreedSignatures, pauseContradicted } from './agreement.ts';
export { postponeCarried } from './carry.ts';
export { describeTransactions, type ListedTransaction, listTransactions } from './listing.ts';
export { retryManual } from './manual.ts';
export { outflowLeft, type PendingSpend, pendingSpends, SOL, TOKEN_ACCOUNTS } from './outflows.ts';
export { contradictionScope, EVERYTHING, isContradicted, pause, resume, selectContradictions, selectPause } from './pauses.ts';
export { pollPending } from './poll.ts';
export { PRIORITIES, type Priority } from './priorities.ts';
export { purgeAttemptBytes } from './rows.ts';
export { signAndSend } from './signing/sign.ts';
export { type SubmissionStatus, subjectsBySignature, submissionOf, submissionStatuses } from './status.ts';
export { type Cause, DUE_TRANSACTIONS, enqueueDue, pendingOf, retry, submit, submitAll } from './submit.ts';
export type {
  CarriedTransactions,
  ChainError,
  ComposeOutcome,
  FailedTransaction,
  LandedTransaction,
  SignedAttempt,
  Spend,
  TransactionDraft,
  TransactionType,
} from './transaction-type.ts';
