import type { expireEpochs as job } from '../jobs/rewards.ts';
import { expireEpochs as expire } from '../src/areas/rewards/rewards.ts';
import type { Handler } from './handler.ts';

/** Ends the epochs whose time is over. */
export const expireEpochs: Handler<typeof job> = async (app) => await expire(app);
