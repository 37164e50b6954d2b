import { watchBoards as watch } from '#areas/points';
import type { watchBoards as job } from '#jobs/points.ts';
import type { Handler } from './handler.ts';

/** Has the boards rebuilt that Redis lost. */
export const watchBoards: Handler<typeof job> = async (app) => await watch(app);
