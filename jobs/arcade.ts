import { z } from 'zod';
import { job } from '#platform/jobs/job.ts';

/** Ends running battles and expires open battles whose time is up. */
export const advanceBattles = job({
  name: 'advance-battles',
  queue: 'arcade',
  payload: z.strictObject({}),
  attempts: 1,
  id: () => 'advance-battles',
});

/** Reads finalized burns from the chain, starting where the previous run stopped. Also ends burn events whose time is up. */
export const ingestBurns = job({
  name: 'ingest-burns',
  queue: 'arcade',
  payload: z.strictObject({}),
  attempts: 1,
  id: () => 'ingest-burns',
});
