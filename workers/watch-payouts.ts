import type { watchPayouts as job } from '../jobs/payouts.ts';
import { runWatch } from '../src/areas/payouts/payouts.ts';
import type { Handler } from './handler.ts';

/** Stops payouts where the record and the chain do not fit, and lets them go on where they do. */
export const watchPayouts: Handler<typeof job> = async (app) => await runWatch(app);
