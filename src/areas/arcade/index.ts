/** The door of the arcade: the registry of games, plays and their verification, cabinets, the theme, one-time events. */
export { type Cabinet, listCabinets, possessCabinet, putCabinet, releaseCabinet } from './cabinets.ts';
export { type EndedPlay, type HeartbeatVerdict, judgeHeartbeats } from './evaluate-heartbeats.ts';
export { earnsRewards, type Game, GameDefinition, GameId } from './game.ts';
export { beginOneTimeEvent, listOneTimeEvents, type OneTimeEvent } from './one-time-events.ts';
export { findGame, forgetGames, loadGames, putGame } from './registry.ts';
export { CabinetView, FreeJson, FreeObject, GameView } from './schemas.ts';
export { banWallet, sweepUnfinishedBans, unbanWallet, voidBannedScores } from './scores/bans.ts';
export { processScores } from './scores/batch.ts';
export { type Inadmissible, tryBattleAlone } from './scores/battles.ts';
export { seedArcade } from './seeds.ts';
export { MAX_THEME_BYTES, mergeTheme, readTheme, THEME, type Theme } from './theme.ts';
export { attachVerification, type Verification } from './verification.ts';
export { type Expected, expectedVersions, versionTag } from './versions.ts';
