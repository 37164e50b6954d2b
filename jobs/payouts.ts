import { z } from 'zod';
import { job } from './job.ts';

/** Frees lanes whose batch is over, and puts what is owed into new batches. */
export const planPayouts = job({ name: 'plan-payouts', queue: 'payouts', payload: z.strictObject({}), id: () => 'plan-payouts', everyMs: 2_000 });

/** Compares the record with the chain: whether this is the database that it was, and whether every landing is known. */
export const watchPayouts = job({ name: 'watch-payouts', queue: 'payouts', payload: z.strictObject({}), id: () => 'watch-payouts', everyMs: 60_000 });
