import { Migration0001Platform } from './0001-platform.ts';
import { Migration0002Points } from './0002-points.ts';
import { Migration0003Payouts } from './0003-payouts.ts';
import { Migration0004Arcade } from './0004-arcade.ts';
import { Migration0005Clips } from './0005-clips.ts';
import { Migration0006Social } from './0006-social.ts';
import { Migration0007Referrals } from './0007-referrals.ts';
import { Migration0008Lottery } from './0008-lottery.ts';
import { Migration0009Burns } from './0009-burns.ts';
import { Migration0010Chat } from './0010-chat.ts';
import { Migration0011Quests } from './0011-quests.ts';
import { Migration0012Battles } from './0012-battles.ts';
import { Migration0013Rewards } from './0013-rewards.ts';
import { Migration0014Auth } from './0014-auth.ts';
import { Migration0015Profile } from './0015-profile.ts';
import { Migration0016Restorations } from './0016-restorations.ts';
import { Migration0017Statistics } from './0017-statistics.ts';
import { Migration0018Lists } from './0018-lists.ts';
import { Migration0019TrueAnswers } from './0019-true-answers.ts';
import { Migration0020RoundLists } from './0020-round-lists.ts';
import { Migration0021QuestChecks } from './0021-quest-checks.ts';
import { Migration0022Administration } from './0022-administration.ts';
import { Migration0023RefusedBurns } from './0023-refused-burns.ts';
import { Migration0030LaneScans } from './0030-lane-scans.ts';
import { Migration0031SlowPolls } from './0031-slow-polls.ts';
import { Migration0032Priorities } from './0032-priorities.ts';
import { Migration0034RestoredRoots } from './0034-restored-roots.ts';
import { Migration0035Approvals } from './0035-approvals.ts';
import { Migration0040DrawAccounts } from './0040-draw-accounts.ts';

/**
 * Every migration, oldest first. The first fifteen create the tables, one migration per area. A released migration is never edited. `down` reverts
 * `up`; the data of dropped tables and columns is lost.
 */
export const migrations = [
  { name: '0001-platform', class: Migration0001Platform },
  { name: '0002-points', class: Migration0002Points },
  { name: '0003-payouts', class: Migration0003Payouts },
  { name: '0004-arcade', class: Migration0004Arcade },
  { name: '0005-clips', class: Migration0005Clips },
  { name: '0006-social', class: Migration0006Social },
  { name: '0007-referrals', class: Migration0007Referrals },
  { name: '0008-lottery', class: Migration0008Lottery },
  { name: '0009-burns', class: Migration0009Burns },
  { name: '0010-chat', class: Migration0010Chat },
  { name: '0011-quests', class: Migration0011Quests },
  { name: '0012-battles', class: Migration0012Battles },
  { name: '0013-rewards', class: Migration0013Rewards },
  { name: '0014-auth', class: Migration0014Auth },
  { name: '0015-profile', class: Migration0015Profile },
  { name: '0016-restorations', class: Migration0016Restorations },
  { name: '0017-statistics', class: Migration0017Statistics },
  { name: '0018-lists', class: Migration0018Lists },
  { name: '0019-true-answers', class: Migration0019TrueAnswers },
  { name: '0020-round-lists', class: Migration0020RoundLists },
  { name: '0021-quest-checks', class: Migration0021QuestChecks },
  { name: '0022-administration', class: Migration0022Administration },
  { name: '0023-refused-burns', class: Migration0023RefusedBurns },
  { name: '0030-lane-scans', class: Migration0030LaneScans },
  { name: '0031-slow-polls', class: Migration0031SlowPolls },
  { name: '0032-priorities', class: Migration0032Priorities },
  { name: '0034-restored-roots', class: Migration0034RestoredRoots },
  { name: '0035-approvals', class: Migration0035Approvals },
  { name: '0040-draw-accounts', class: Migration0040DrawAccounts },
];
