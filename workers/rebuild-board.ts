import { rebuildBoard as rebuild } from '#areas/points';
import type { rebuildBoard as job } from '#jobs/points.ts';
import type { Handler } from './handler.ts';

/** Fills a board in Redis from the standings. */
export const rebuildBoard: Handler<typeof job> = async (app, { board }) => await rebuild(app, board);
