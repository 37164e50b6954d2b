import type { refreshBoards as job } from '../jobs/points.ts';
import type { Handler } from './handler.ts';

export const refreshBoards: Handler<typeof job> = async () => {};
