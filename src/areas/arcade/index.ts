/** The public API of the arcade: the registry of games, plays and their sessions, scores, bans, cabinets, the theme and one-time events. */
export { listCabinets, possessCabinet, putCabinet, releaseCabinet } from './cabinets.ts';
export { GamesTable } from './entities.ts';
export { earnsRewards, type Game, GameDefinition, GameId, PublicCaps, publicCaps } from './games/definition.ts';
export { findGame, invalidateGames, loadGames, putGame } from './games/registry.ts';
export { gameStats } from './games/stats.ts';
export { observeScores } from './metrics.ts';
export {
  beginDueEvents,
  beginOneTimeEvent,
  cancelOneTimeEvent,
  DUE_EVENTS,
  listOneTimeEvents,
  type OneTimeEvent,
  readOneTimeEvents,
} from './one-time-events.ts';
export { evaluateHeartbeats } from './plays/evaluate-heartbeats.ts';
export { findWalletsThatPlayed } from './plays/played.ts';
export { attachSessionServer } from './plays/session-server.ts';
export { type ReplayEvidence, runReplays } from './replays/evidence.ts';
export { SimulationView } from './replays/schemas.ts';
export { loadSimulation } from './replays/simulations.ts';
export { purgeReplays } from './replays/store.ts';
export { deleteSavedStates, eraseRecord, eraseRecordsOf, recordExists } from './saves/forget.ts';
export { applyDueThemes, cancelTheme, DUE_THEMES, readScheduledThemes, type ScheduledTheme, scheduleTheme } from './scheduled-themes.ts';
export { CabinetView, FreeJson, FreeObject, GameStatsView, GameSummary, GameView, gameSummary } from './schemas.ts';
export { acceptedDay, type BattleRefusal, tryLockBattle } from './scores/activities.ts';
export { banWallet, finishBan, sweepUnfinishedBans, unbanWallet } from './scores/bans.ts';
export { processScores } from './scores/batch.ts';
export { type BestScore, type Days, readBestScores } from './scores/best-scores.ts';
export { readVisibleScore } from './scores/own-scores.ts';
export { encodeOutcome } from './scores/schemas.ts';
export { seedArcade } from './seeds.ts';
export { MAX_THEME_BYTES, mergeTheme, readTheme, type Theme } from './theme.ts';
export { type ExpectedVersions, expectedVersions, versionTag } from './versions.ts';
