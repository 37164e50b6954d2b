import { z } from 'zod';
import { job } from '#platform/jobs/job.ts';

/** Reads finalized changes of the open epochs from the chain: claims by any transaction, settlements, closings. */
export const followEpochs = job({
  name: 'follow-epochs',
  queue: 'chain',
  payload: z.strictObject({}),
  id: () => 'follow-epochs',
});
