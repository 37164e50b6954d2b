import { expireEpochs as expire } from '#areas/rewards';
import type { expireEpochs as job } from '#jobs/rewards.ts';
import type { Handler } from './handler.ts';

/** Ends the epochs whose time is over. */
export const expireEpochs: Handler<typeof job> = async (app) => await expire(app);
