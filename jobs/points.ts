import { z } from 'zod';
import { Wallet } from '#lib/scalars.ts';
import { job } from '#platform/jobs/job.ts';

/** Lets every consumer (referrals, quests, battles) process new activities. */
export const consumeActivities = job({
  name: 'consume-activities',
  queue: 'points',
  payload: z.strictObject({}),
  attempts: 1,
  id: () => 'consume-activities',
});

/** Copies standings that changed outside the score path to the boards in Redis. */
export const refreshBoards = job({
  name: 'refresh-boards',
  queue: 'points',
  payload: z.strictObject({}),
  id: () => 'refresh-boards',
});

/** Fills a board in Redis from the standings, while scores continue to arrive. */
export const rebuildBoard = job({
  name: 'rebuild-board',
  queue: 'points',
  payload: z.strictObject({ board: z.string() }),
  id: ({ board }) => `rebuild-${board}`,
});

/** Detects that Redis lost its data, and enqueues rebuildBoard for every board. */
export const detectLostBoards = job({
  name: 'detect-lost-boards',
  queue: 'points',
  payload: z.strictObject({}),
  id: () => 'detect-lost-boards',
});

/** Voids every accepted score of a banned wallet. */
export const voidBanned = job({
  name: 'void-banned',
  queue: 'points',
  payload: z.strictObject({ wallet: Wallet }),
  id: ({ wallet }) => `void-banned-${wallet}`,
});
