import { type DailyPoints, grantPoints, type OpenDay, type Player, pointsLeft } from '#areas/points';
import { SCALE } from '#lib/normalization.ts';
import type { App } from '#platform/app.ts';
import type { Game } from '../games/definition.ts';
import type { NoPointsReason, ScoreStatus } from './schemas.ts';

/** The points of an accepted score. `noPointsReason`: null when the score gave points. */
export interface Award {
  points: number;
  noPointsReason: Exclude<NoPointsReason, 'held' | 'rejected' | 'voided'> | null;
}

/** Returns the points of a normalized score before caps: `floor(normalized × pointsPer10000 / 10000)`. */
export const pointsFor = (game: Game, normalized: number): number => Math.floor((normalized * game.pointsPer10000) / SCALE);

const capsOf = (app: App, game: Game): DailyPoints => ({ game: game.caps.dailyPoints, all: app.config.dailyPointsCap });

/** Returns the points that the daily caps still allow a locked player to earn: in a game, and in all games together. */
export const leftToday = (app: App, player: Player, open: OpenDay, game: Game): DailyPoints => pointsLeft(player, open, game.id, capsOf(app, game));

/** Grants a locked player the points of an accepted score, within the daily caps. */
export function awardPoints(app: App, player: Player, open: OpenDay, game: Game, normalized: number): Award {
  const full = pointsFor(game, normalized);
  const points = grantPoints(player, open, game.id, full, capsOf(app, game));
  if (points > 0) return { points, noPointsReason: null };
  if (game.pointsPer10000 === 0 || game.caps.dailyPoints === 0) return { points, noPointsReason: 'game-earns-nothing' };
  if (full === 0) return { points, noPointsReason: 'low-score' };
  return { points, noPointsReason: leftToday(app, player, open, game).all === 0 ? 'daily-cap' : 'game-cap' };
}

/** Returns the points that a score gives in its present state: 0 for a score that is not accepted, with its status as the reason. */
export function presentPoints(score: { status: ScoreStatus; points: number; noPointsReason: NoPointsReason | null }): {
  pointsAwarded: number;
  noPointsReason: NoPointsReason | null;
} {
  const { status, points, noPointsReason } = score;
  return status === 'accepted' ? { pointsAwarded: points, noPointsReason } : { pointsAwarded: 0, noPointsReason: status };
}
