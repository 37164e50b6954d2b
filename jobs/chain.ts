import { z } from 'zod';
import { job } from '#platform/jobs/job.ts';

/** Reads finalized changes of open reward epochs from the chain: claims (by transactions of any sender), settlements and closings. */
export const followEpochs = job({
  name: 'follow-epochs',
  queue: 'chain',
  payload: z.strictObject({}),
  id: () => 'follow-epochs',
});
