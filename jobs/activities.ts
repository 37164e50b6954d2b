import { z } from 'zod';
import { job } from './job.ts';

/** Has consumers do their part of what wallets did. */
export const consumeActivities = job({
  name: 'consume-activities',
  queue: 'points',
  payload: z.strictObject({}),
  id: () => 'consume-activities',
  attempts: 1,
  everyMs: 500,
});
