import { sweepEpochs as sweep } from '#areas/rewards';
import type { sweepEpochs as job } from '#jobs/epochs.ts';
import type { Handler } from './handler.ts';

/** Begins the epochs that are due, and rings for those that are not finished. */
export const sweepEpochs: Handler<typeof job> = async (app) => await sweep(app);
