import { z } from 'zod';
import { job } from './job.ts';

/** Reads what has become final of the open epochs: claims by whoever's transaction, settlements, ends. */
export const followEpochs = job({
  name: 'follow-epochs',
  queue: 'chain',
  payload: z.strictObject({}),
  id: () => 'follow-epochs',
  everyMs: 3_000,
});

/** Ends epochs whose time is over, and takes up again what was given up of their roots and ends. */
export const expireEpochs = job({ name: 'expire-epochs', queue: 'upkeep', payload: z.strictObject({}), everyMs: 15_000, id: () => 'expire-epochs' });
