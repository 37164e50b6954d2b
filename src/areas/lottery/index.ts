/** The door of the lottery: rounds of both kinds, their entries, and how they go from open to paid. */
export {
  type Acceptance,
  type AcceptedEntry,
  acceptEntries,
  type Candidate,
  type LockedRound,
  lockActiveRound,
  lockRound,
  readEntries,
  takesEntries,
} from './entries.ts';
export { checkTicket, sweepTickets } from './legacy/check.ts';
export { advanceRound, sweepRounds } from './lifecycle/advance.ts';
export { drawCommitment } from './lifecycle/commitment.ts';
export { Receipt, receiptOf } from './receipts.ts';
export { lockTreasury, type Moment, momentBefore, promised, reserved } from './reserve.ts';
export { type RoundRow, readActiveChatRound, readRound } from './rows.ts';
export { runScheduler } from './scheduler/run.ts';
export { rememberBalances } from './treasury-gauges.ts';
