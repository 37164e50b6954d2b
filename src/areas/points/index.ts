/** The door of points: ledger, standings, activities and the boards in Redis. */
export { ACTIVITY_KINDS, type Activity, appendActivities } from './activities.ts';
export { playedAmong } from './activity-lookup.ts';
export { applyToBoard, boardKeys } from './boards/boards.ts';
export { type PageAsk, type ReadPage, rankOf, readPage, readRank, type When } from './boards/reader.ts';
export { detectLostBoards, rebuildBoard } from './boards/rebuild.ts';
export { refreshBoards } from './boards/refresh.ts';
export type { Ranked } from './boards/scripts.ts';
export { closeEnded } from './closing.ts';
export { type Consumer, consumeActivities, type Happened } from './consuming.ts';
export { countScores, earn, lockPlayers, type Player, saveEarnings, type Tally } from './earnings.ts';
export { appendPoints, COUNTER_SHARDS, type LedgerEntry, type OpenDay, openDay } from './ledger.ts';
export { choosePlayerMode, ensurePlayer, type Holder, readHolder, readPlayerMode } from './players.ts';
export { type Best, gameBoard, type Mode, raiseBests, readStandings, readTotals, refreshLater, resetBest, type StandingRow } from './standings.ts';
export { readPointTotals } from './totals.ts';
