import type { watchBoards as job } from '../jobs/points.ts';
import type { Handler } from './handler.ts';

export const watchBoards: Handler<typeof job> = async () => {};
