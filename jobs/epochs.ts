import { z } from 'zod';
import { job } from '#platform/jobs/job.ts';

/** Computes the leaves and the tree of one epoch, from the points of its day or from an import. */
export const computeEpoch = job({
  name: 'compute-epoch',
  queue: 'epochs',
  payload: z.strictObject({ epoch: z.int().min(0) }),
  id: ({ epoch }) => `compute-epoch-${epoch}`,
});
