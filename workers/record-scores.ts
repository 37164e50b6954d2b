import type { recordScores as job } from '../jobs/scores.ts';
import type { Handler } from './handler.ts';

export const recordScores: Handler<typeof job> = async () => {};
