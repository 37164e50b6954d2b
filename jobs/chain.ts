import { z } from 'zod';
import { job } from '#platform/jobs/job.ts';

/** Searches the signatures of claims by strangers whose transactions are not known. */
export const findClaimSignatures = job({
  name: 'find-claim-signatures',
  queue: 'maintenance',
  payload: z.strictObject({}),
  id: () => 'find-claim-signatures',
});

/** Reads finalized changes of open reward epochs from the chain: claims (by transactions of any sender), settlements and closings. */
export const followEpochs = job({
  name: 'follow-epochs',
  queue: 'chain',
  payload: z.strictObject({}),
  id: () => 'follow-epochs',
});
