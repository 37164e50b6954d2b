/** The public API of the arcade: the registry of games, plays and their sessions, scores, bans, cabinets, the theme and one-time events. */
export { listCabinets, possessCabinet, putCabinet, releaseCabinet } from './cabinets.ts';
export { GamesTable } from './entities.ts';
export { earnsRewards, type Game, GameDefinition, GameId } from './games/definition.ts';
export { findGame, invalidateGames, loadGames, putGame } from './games/registry.ts';
export { observeScores } from './metrics.ts';
export { beginOneTimeEvent, listOneTimeEvents } from './one-time-events.ts';
export { evaluateHeartbeats } from './plays/evaluate-heartbeats.ts';
export { attachSessionServer } from './plays/session-server.ts';
export { CabinetView, FreeJson, FreeObject, GameView } from './schemas.ts';
export { type BattleRefusal, tryLockBattle } from './scores/activities.ts';
export { banWallet, sweepUnfinishedBans, unbanWallet, voidBannedScores } from './scores/bans.ts';
export { processScores } from './scores/batch.ts';
export { seedArcade } from './seeds.ts';
export { MAX_THEME_BYTES, mergeTheme, readTheme, type Theme } from './theme.ts';
export { type ExpectedVersions, expectedVersions, versionTag } from './versions.ts';
