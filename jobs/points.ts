import { z } from 'zod';
import { Wallet } from '#lib/scalars.ts';
import { job } from '#platform/jobs/job.ts';

/** Passes new activities to every consumer (referrals, quests, battles). */
export const consumeActivities = job({
  name: 'consume-activities',
  queue: 'points',
  payload: z.strictObject({}),
  attempts: 1,
  id: () => 'consume-activities',
});

/** Copies changed standings to the boards in Redis. recordScores does this itself; all other writers of standings rely on this job. */
export const refreshBoards = job({
  name: 'refresh-boards',
  queue: 'points',
  payload: z.strictObject({}),
  id: () => 'refresh-boards',
});

/** Fills a board in Redis from the standings in the database, while scores continue to arrive. */
export const rebuildBoard = job({
  name: 'rebuild-board',
  queue: 'points',
  payload: z.strictObject({ board: z.string() }),
  id: ({ board }) => `rebuild-${board}`,
});

/** Checks whether Redis lost its data. If so, enqueues rebuildBoard for every board. */
export const detectLostBoards = job({
  name: 'detect-lost-boards',
  queue: 'points',
  payload: z.strictObject({}),
  id: () => 'detect-lost-boards',
});

/** Completes quests whose requirement may be met without a new activity, or whose wallet has a token balance that was not known. */
export const completeQuests = job({
  name: 'complete-quests',
  queue: 'points',
  payload: z.strictObject({}),
  attempts: 1,
  id: () => 'complete-quests',
});

/** Evaluates new and changed quests, and quests whose window begins, for all wallets. */
export const sweepQuests = job({
  name: 'sweep-quests',
  queue: 'points',
  payload: z.strictObject({}),
  attempts: 1,
  id: () => 'sweep-quests',
});

/** Emits the events about quests whose window or burn event began or ended. */
export const announceQuests = job({
  name: 'announce-quests',
  queue: 'points',
  payload: z.strictObject({}),
  attempts: 1,
  id: () => 'announce-quests',
});

/** Ends the sessions of a banned wallet and rejects its held scores. */
export const applyBan = job({
  name: 'apply-ban',
  queue: 'points',
  payload: z.strictObject({ wallet: Wallet }),
  id: ({ wallet }) => `apply-ban-${wallet}`,
});
