import { z } from 'zod';
import { job } from './job.ts';

/** Brings the boards in Redis up to date with standings that other writers than the score path changed. */
export const refreshBoards = job({
  name: 'refresh-boards',
  queue: 'points',
  payload: z.strictObject({}),
  id: () => 'refresh-boards',
  everyMs: 5_000,
});

/** Fills a board in Redis from the standings, while scores go on. */
export const rebuildBoard = job({
  name: 'rebuild-board',
  queue: 'points',
  payload: z.strictObject({ board: z.string() }),
  id: ({ board }) => `rebuild-${board}`,
});

/** Notices a Redis that lost its memory, and has every board rebuilt. */
export const watchBoards = job({ name: 'watch-boards', queue: 'points', payload: z.strictObject({}), everyMs: 2_000, id: () => 'watch-boards' });
