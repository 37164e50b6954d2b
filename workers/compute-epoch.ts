import { computeEpoch as compute } from '#areas/rewards';
import type { computeEpoch as job } from '#jobs/epochs.ts';
import type { Handler } from './handler.ts';

/** Makes an epoch's leaves and tree. */
export const computeEpoch: Handler<typeof job> = async (app, { epoch }) => await compute(app, epoch);
