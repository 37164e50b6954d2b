import { refreshBoards as refresh } from '#areas/points';
import type { refreshBoards as job } from '#jobs/points.ts';
import type { Handler } from './handler.ts';

/** Shows voids and decisions on the boards. */
export const refreshBoards: Handler<typeof job> = async (app) => await refresh(app);
