import type { refreshBoards as job } from '../jobs/points.ts';
import { refreshBoards as refresh } from '../src/areas/points/points.ts';
import type { Handler } from './handler.ts';

/** Shows voids and decisions on the boards. */
export const refreshBoards: Handler<typeof job> = async (app) => await refresh(app);
