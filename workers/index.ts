import type { jobs } from '../jobs/index.ts';
import { closePeriods } from './close-periods.ts';
import { expire } from './expire.ts';
import type { Handler } from './handler.ts';
import { rebuildBoard } from './rebuild-board.ts';
import { recordScores } from './record-scores.ts';
import { refreshBoards } from './refresh-boards.ts';
import { sweepBans } from './sweep-bans.ts';
import { voidBanned } from './void-banned.ts';
import { watchBoards } from './watch-boards.ts';

/** How each job is done. A job without a handler does not compile. */
export const handlers: { readonly [K in keyof typeof jobs]: Handler<(typeof jobs)[K]> } = {
  recordScores,
  refreshBoards,
  rebuildBoard,
  watchBoards,
  expire,
  closePeriods,
  voidBanned,
  sweepBans,
};
