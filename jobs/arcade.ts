import { z } from 'zod';
import { job } from './job.ts';

/** Ends battles whose time is up, and open ones that nobody joined. */
export const advanceBattles = job({
  name: 'advance-battles',
  queue: 'arcade',
  payload: z.strictObject({}),
  id: () => 'advance-battles',
  attempts: 1,
  everyMs: 1_000,
});

/** Reads burns that are final on the chain since the last one that was read, and ends burn events whose time is up. */
export const watchBurns = job({
  name: 'watch-burns',
  queue: 'arcade',
  payload: z.strictObject({}),
  id: () => 'watch-burns',
  attempts: 1,
  everyMs: 2_000,
});

/** Removes media that no clip names. */
export const sweepClips = job({
  name: 'sweep-clips',
  queue: 'upkeep',
  payload: z.strictObject({}),
  id: () => 'sweep-clips',
  attempts: 1,
  everyMs: 60_000,
});
