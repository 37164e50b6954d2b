import type { rebuildBoard as job } from '../jobs/points.ts';
import type { Handler } from './handler.ts';

export const rebuildBoard: Handler<typeof job> = async () => {};
