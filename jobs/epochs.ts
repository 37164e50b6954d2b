import { z } from 'zod';
import { job } from './job.ts';

/** Makes the leaves and the tree of an epoch that was begun, from the points of its day or from an import. */
export const computeEpoch = job({
  name: 'compute-epoch',
  queue: 'epochs',
  payload: z.strictObject({ epoch: z.int().min(0) }),
  id: ({ epoch }) => `compute-epoch-${epoch}`,
});

/** Begins the epochs of days that have been closed, and rings computeEpoch again for those that are not finished. */
export const sweepEpochs = job({ name: 'sweep-epochs', queue: 'upkeep', payload: z.strictObject({}), everyMs: 20_000, id: () => 'sweep-epochs' });

/** Computes what the running day would give if it ended now, when points have come in. */
export const projectDay = job({ name: 'project-day', queue: 'upkeep', payload: z.strictObject({}), everyMs: 15_000, id: () => 'project-day' });
