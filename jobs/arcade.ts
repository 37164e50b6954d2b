import { z } from 'zod';
import { job } from '#platform/jobs/job.ts';

/** Ends battles whose time is up, and expires open battles that nobody joined. */
export const advanceBattles = job({
  name: 'advance-battles',
  queue: 'arcade',
  payload: z.strictObject({}),
  attempts: 1,
  id: () => 'advance-battles',
});

/** Reads finalized burns from the chain, from the last one read on, and ends burn events whose time is up. */
export const ingestBurns = job({
  name: 'ingest-burns',
  queue: 'arcade',
  payload: z.strictObject({}),
  attempts: 1,
  id: () => 'ingest-burns',
});
