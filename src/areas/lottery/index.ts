/** The public API of the lottery: rounds of both kinds, their entries, draws and prizes. */
export { reportDraws } from './draws/account.ts';
export { ACCEPTED_ENTRY, type AcceptedEntry, acceptEntries, type LockedRound, lockActiveRound, takesEntries } from './entries.ts';
export { type EntryBalance, type RuleRefusal, readBalanceOf, readEntryBalance, refusedWallets } from './entry-rules.ts';
export { checkTicket, sweepTickets } from './legacy/check.ts';
export { advanceRound, sweepRounds } from './lifecycle/advance.ts';
export { drawCommitment } from './lifecycle/commitment.ts';
export { Receipt, receiptOf } from './receipts.ts';
export { refreshDenyList } from './restrictions/deny-list.ts';
export { CURRENT_CHAT_ROUND, listOpenChatRounds, MAX_OPEN_CHAT_ROUNDS } from './rows.ts';
export { runScheduler } from './scheduler/run.ts';
export { EntryRuleTerms } from './terms.ts';
export { lockTreasury, readObligations, readOutflowMarker } from './treasury.ts';
export { storeBalances } from './treasury-gauges.ts';
