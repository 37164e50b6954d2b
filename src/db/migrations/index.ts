import { Migration0001Kit } from './0001-kit.ts';
import { Migration0002Points } from './0002-points.ts';
import { Migration0003Arcade } from './0003-arcade.ts';
import { Migration0004Auth } from './0004-auth.ts';
import { Migration0005Webhooks } from './0005-webhooks.ts';
import { Migration0006Chain } from './0006-chain.ts';
import { Migration0007Rewards } from './0007-rewards.ts';
import { Migration0008Payouts } from './0008-payouts.ts';
import { Migration0009Claims } from './0009-claims.ts';
import { Migration0010Social } from './0010-social.ts';
import { Migration0011Rounds } from './0011-rounds.ts';
import { Migration0012Chat } from './0012-chat.ts';
import { Migration0013Tickets } from './0013-tickets.ts';
import { Migration0014Scheduler } from './0014-scheduler.ts';
import { Migration0015Activities } from './0015-activities.ts';
import { Migration0016Referrals } from './0016-referrals.ts';
import { Migration0017Quests } from './0017-quests.ts';
import { Migration0018Beta } from './0018-beta.ts';

/** Every migration, oldest first. A migration that has been released is never edited. */
export const migrations = [
  { name: '0001-kit', class: Migration0001Kit },
  { name: '0002-points', class: Migration0002Points },
  { name: '0003-arcade', class: Migration0003Arcade },
  { name: '0004-auth', class: Migration0004Auth },
  { name: '0005-webhooks', class: Migration0005Webhooks },
  { name: '0006-chain', class: Migration0006Chain },
  { name: '0007-rewards', class: Migration0007Rewards },
  { name: '0008-payouts', class: Migration0008Payouts },
  { name: '0009-claims', class: Migration0009Claims },
  { name: '0010-social', class: Migration0010Social },
  { name: '0011-rounds', class: Migration0011Rounds },
  { name: '0012-chat', class: Migration0012Chat },
  { name: '0013-tickets', class: Migration0013Tickets },
  { name: '0014-scheduler', class: Migration0014Scheduler },
  { name: '0015-activities', class: Migration0015Activities },
  { name: '0016-referrals', class: Migration0016Referrals },
  { name: '0017-quests', class: Migration0017Quests },
  { name: '0018-beta', class: Migration0018Beta },
];
