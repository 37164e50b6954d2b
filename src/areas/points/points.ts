/** The door of points: ledger, standings, activities and the boards in Redis. */
export { ACTIVITY_KINDS, type Activity, appendActivities } from './activities.ts';
export { type PageAsk, type ReadPage, rankOf, readPage, readRank, type When } from './board-reader.ts';
export type { Ranked } from './board-scripts.ts';
export { applyToBoard, boardKeys } from './boards.ts';
export { closeEnded } from './closing.ts';
export { type Consumer, consumeActivities, type Happened } from './consuming.ts';
export { countScores, earn, lockPlayers, type Player, saveEarnings, type Tally } from './earnings.ts';
export { appendPoints, COUNTER_SHARDS, type LedgerEntry, type OpenDay, openDay } from './ledger.ts';
export { playedAmong } from './played.ts';
export { choosePlayerMode, ensurePlayer, type Holder, readHolder, readPlayerMode } from './players.ts';
export { rebuildBoard, watchBoards } from './rebuild.ts';
export { refreshBoards } from './refresh.ts';
export { type Best, gameBoard, type Mode, raiseBests, readStandings, readTotals, refreshLater, resetBest, type StandingRow } from './standings.ts';
export { readPointTotals } from './totals.ts';
