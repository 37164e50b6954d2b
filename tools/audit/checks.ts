import type { Check } from './check.ts';
import { activityChecks } from './checks/activities.ts';
import { battleChecks } from './checks/battles.ts';
import { boards } from './checks/boards.ts';
import { burnChecks } from './checks/burns.ts';
import { claimChecks } from './checks/claims.ts';
import { epochChecks } from './checks/epochs.ts';
import { historyChecks } from './checks/history.ts';
import { logChecks } from './checks/logs.ts';
import { draws } from './checks/lottery/draws.ts';
import { roundChecks } from './checks/lottery/rounds.ts';
import { treasuryChecks } from './checks/lottery/treasury.ts';
import { paymentChecks } from './checks/payments.ts';
import { adjustmentChecks, playerChecks, scoreChecks } from './checks/players.ts';
import { pointChecks } from './checks/points.ts';
import { privacyChecks } from './checks/privacy.ts';
import { questChecks } from './checks/quests.ts';
import { replayChecks } from './checks/replays.ts';
import { signatures } from './checks/signatures.ts';
import { socialChecks } from './checks/social.ts';
import { storageChecks } from './checks/storage.ts';
import { streamChecks } from './checks/stream.ts';
import { transactionChecks } from './checks/transactions.ts';
import { vaults } from './checks/vaults.ts';
import { guards } from './guards.ts';
import { orphans } from './references.ts';

/** All checks, in the order of the report. */
export const CHECKS: readonly Check[] = [
  ...pointChecks,
  ...historyChecks,
  boards,
  ...playerChecks,
  ...scoreChecks,
  ...replayChecks,
  ...adjustmentChecks,
  ...activityChecks,
  ...questChecks,
  ...battleChecks,
  ...burnChecks,
  ...socialChecks,
  ...privacyChecks,
  ...paymentChecks,
  ...transactionChecks,
  ...claimChecks,
  vaults,
  signatures,
  ...treasuryChecks,
  ...epochChecks,
  ...roundChecks,
  draws,
  ...storageChecks,
  ...streamChecks,
  ...logChecks,
  guards,
  orphans,
];
