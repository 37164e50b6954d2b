import { z } from 'zod';
import { job } from '#platform/jobs/job.ts';

/** Computes the leaves and the Merkle tree of one reward epoch, from the points of its UTC day or from an import. */
export const computeEpoch = job({
  name: 'compute-epoch',
  queue: 'epochs',
  payload: z.strictObject({ epoch: z.int().min(0) }),
  id: ({ epoch }) => `compute-epoch-${epoch}`,
});
