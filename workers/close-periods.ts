import { closeEnded } from '#areas/points';
import type { closePeriods as job } from '#jobs/upkeep.ts';
import type { Handler } from './handler.ts';

/** Closes what has ended, and stores its final ranks. */
export const closePeriods: Handler<typeof job> = async (app) => await closeEnded(app);
