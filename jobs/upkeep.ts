import { z } from 'zod';
import { job } from './job.ts';

/** Removes what has had its time: idempotency keys, nonces, sessions, published events. */
export const expire = job({ name: 'expire', queue: 'upkeep', payload: z.strictObject({}), everyMs: 60_000, id: () => 'expire' });

/** Closes the UTC day, week, month or year that has ended, and stores the final ranks of its boards. */
export const closePeriods = job({ name: 'close-periods', queue: 'upkeep', payload: z.strictObject({}), everyMs: 20_000, id: () => 'close-periods' });
