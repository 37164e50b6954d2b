import { activityChecks } from './activities.ts';
import { battleChecks } from './battles.ts';
import { boards } from './boards.ts';
import { burnChecks } from './burns.ts';
import type { Check } from './check.ts';
import { claimChecks } from './claims.ts';
import { draws } from './draws.ts';
import { epochChecks } from './epochs.ts';
import { guards } from './guards.ts';
import { landingChecks } from './landing.ts';
import { logChecks } from './logs.ts';
import { paymentChecks } from './payments.ts';
import { playerChecks, scoreChecks } from './players.ts';
import { pointChecks } from './points.ts';
import { questChecks } from './quests.ts';
import { orphans } from './references.ts';
import { roundChecks } from './rounds.ts';
import { signatures } from './signatures.ts';
import { socialChecks } from './social.ts';
import { streamChecks } from './stream.ts';
import { treasuryChecks } from './treasury.ts';
import { vaults } from './vaults.ts';

/** Everything that must always hold. */
export const CHECKS: readonly Check[] = [
  ...pointChecks,
  boards,
  ...playerChecks,
  ...scoreChecks,
  ...activityChecks,
  ...questChecks,
  ...battleChecks,
  ...burnChecks,
  ...socialChecks,
  ...paymentChecks,
  ...landingChecks,
  ...claimChecks,
  vaults,
  signatures,
  ...treasuryChecks,
  ...epochChecks,
  ...roundChecks,
  draws,
  ...streamChecks,
  ...logChecks,
  guards,
  orphans,
];
