import { sweepBans, voidBanned } from './bans.ts';
import { rebuildBoard, refreshBoards, watchBoards } from './points.ts';
import { recordScores } from './scores.ts';
import { closePeriods, expire } from './upkeep.ts';

/** Every job of the service. */
export const jobs = { recordScores, refreshBoards, rebuildBoard, watchBoards, expire, closePeriods, voidBanned, sweepBans } as const;
