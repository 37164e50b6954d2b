/** The public API of points: the ledger, standings, activities and the boards in Redis. */
export {
  ACTIVITY_KINDS,
  type Activity,
  activitiesAsJson,
  appendActivities,
  DECISIONS,
  insertBatch,
  isAction,
  isBan,
  isVoiding,
} from './activities.ts';
export { isBanned } from './banned.ts';
export { applyToBoard, boardKeys } from './boards/boards.ts';
export { rankChanges, readPlaces } from './boards/changes.ts';
export { type PageRequest, readPage, readRank } from './boards/reader.ts';
export { detectLostBoards, rebuildBoard } from './boards/rebuild.ts';
export { MARKED_REFRESHES, refreshBoards } from './boards/refresh.ts';
export { isBoardComplete, type RankedLine } from './boards/scripts.ts';
export { readSummary } from './boards/summary.ts';
export { closeEndedPeriods } from './closing.ts';
export { type ActivityEvent, type Consumer, consumeActivities, OPEN_ACTIVITIES } from './consumers.ts';
export {
  countScores,
  type DailyPoints,
  grantPoints,
  hasTally,
  lockPlayers,
  type Player,
  pointsLeft,
  retakePoints,
  returnPoints,
  saveEarnings,
  scoresOf,
} from './earnings.ts';
export { PlayersTable } from './entities.ts';
export { archivedHeader, isDetached, isOfOpenMonth, keepHistory, readArchivedBefore } from './history/index.ts';
export { appendPoints, COUNTER_SHARDS, LEDGER_CAUSES, type LedgerEntry, type OpenDay, openDay } from './ledger.ts';
export {
  appendAdjustment,
  ledgerId,
  listLedgerEntries,
  type Operation,
  REVOKE,
  readEntriesOfCause,
  readLedgerEntry,
  revokeEntries,
  type StoredEntry,
} from './ledger-entries.ts';
export { choosePlayerMode, ensurePlayer, type PlayerPoints, readPlayerMode, readPlayerPoints, requirePlayer } from './players.ts';
export { type QuestCheck, recheckQuests, requestQuestChecks } from './quest-checks.ts';
export {
  type Best,
  type BoardStanding,
  type BoardTotal,
  gameBoard,
  type Mode,
  raiseBests,
  readStandings,
  readTotals,
  refreshStandings,
  resetBest,
  type StandingRow,
  scheduleRefresh,
} from './standings.ts';
export { readPointTotals } from './totals.ts';
