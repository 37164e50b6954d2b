/** The public API of the arcade: the registry of games, plays and their sessions, scores, bans, cabinets, the theme and one-time events. */
export { listCabinets, possessCabinet, putCabinet, releaseCabinet } from './cabinets.ts';
export { GamesTable } from './entities.ts';
export { earnsRewards, type Game, GameDefinition, GameId } from './games/definition.ts';
export { findGame, invalidateGames, loadGames, putGame } from './games/registry.ts';
export { gameStats } from './games/stats.ts';
export { observeScores } from './metrics.ts';
export { beginDueEvents, beginOneTimeEvent, cancelOneTimeEvent, listOneTimeEvents, type OneTimeEvent, readOneTimeEvents } from './one-time-events.ts';
export { evaluateHeartbeats } from './plays/evaluate-heartbeats.ts';
export { attachSessionServer } from './plays/session-server.ts';
export { applyDueThemes, cancelTheme, readScheduledThemes, type ScheduledTheme, scheduleTheme } from './scheduled-themes.ts';
export { CabinetView, FreeJson, FreeObject, GameStatsView, GameSummary, GameView } from './schemas.ts';
export { type BattleRefusal, tryLockBattle } from './scores/activities.ts';
export { banWallet, sweepUnfinishedBans, unbanWallet, voidBannedScores } from './scores/bans.ts';
export { processScores } from './scores/batch.ts';
export { type BestScore, type Days, readBestScores } from './scores/best-scores.ts';
export { seedArcade } from './seeds.ts';
export { MAX_THEME_BYTES, mergeTheme, readTheme, type Theme } from './theme.ts';
export { type ExpectedVersions, expectedVersions, versionTag } from './versions.ts';
