/** The door of the arcade: the registry of games, plays and their verification, cabinets, the theme. */
export { type Cabinet, listCabinets, putCabinet } from './cabinets.ts';
export { earnsRewards, type Game, GameDefinition, GameId } from './game.ts';
export { type EndedPlay, type HeartbeatVerdict, judgeHeartbeats } from './judge-heartbeats.ts';
export { findGame, forgetGames, loadGames, putGame } from './registry.ts';
export { CabinetView, FreeObject, GameView } from './schema.ts';
export { banWallet, sweepUnfinishedBans, unbanWallet, voidBannedScores } from './scores/bans.ts';
export { processScores } from './scores/batch.ts';
export { seedArcade } from './seeds.ts';
export { readTheme, THEME, type Theme } from './theme.ts';
export { attachVerification, type Verification } from './verification.ts';
export { type Expected, expectedVersions, versionTag } from './versions.ts';
