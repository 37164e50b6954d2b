import { z } from 'zod';
import { Normalization } from '#lib/normalization.ts';
import { line, Slug } from '#lib/scalars.ts';

/** Words that cannot be ids of games, because a path such as `/game/referral/leaderboard` has the word in place of an id. */
const RESERVED = new Set(['referral']);

/** Id of a new game. */
export const GameId = Slug.refine((id) => !RESERVED.has(id), 'must not be a reserved word').meta({ id: 'GameId', example: 'star-raiders' });

/**
 * Ways to verify scores. `none`: no verification. `play`: each score names a play. `heartbeat`: each score names a play, and the client sends a
 * heartbeat every 5 s over the WebSocket of the play's session.
 */
const VERIFICATIONS = ['none', 'play', 'heartbeat'] as const;
export const Verification = z.enum(VERIFICATIONS).meta({
  id: 'Verification',
  description: 'How scores are verified. none: not at all; play: by a play; heartbeat: by a play whose session sends a heartbeat every 5 s.',
  example: 'play',
});

/** Limits of a game's scores and points. */
export const GameCaps = z
  .strictObject({
    dailyPoints: z
      .int()
      .min(0)
      .max(100_000_000)
      .meta({ description: 'Maximum points that a wallet can earn in this game per UTC day.', example: 5_000 }),
    scorePerSec: z
      .number()
      .positive()
      .max(1e12)
      .optional()
      .meta({ description: 'Raw score per second of play. A score above this rate is held for a moderator.', example: 500 }),
    minDurationMs: z
      .int()
      .min(0)
      .max(86_400_000)
      .default(0)
      .meta({ description: 'Minimum duration of a play, ms. Shorter plays are refused.', example: 15_000 }),
    maxDurationMs: z
      .int()
      .min(1_000)
      .max(7 * 86_400_000)
      .default(6 * 3_600_000)
      .meta({ description: 'Maximum duration of a play, ms. Longer plays are refused.', example: 1_800_000 }),
  })
  .refine((caps) => caps.minDurationMs < caps.maxDurationMs, { path: ['minDurationMs'], message: 'must be below maxDurationMs' })
  .meta({ id: 'GameCaps' });

/** A game's configuration in the registry, without its id and its secret. */
export const GameDefinition = z
  .strictObject({
    name: line(80).meta({ example: 'Star Raiders' }),
    category: Slug.meta({ example: 'shooter' }),
    normalization: Normalization,
    pointsPer10000: z.int().min(0).max(1_000_000).meta({ description: 'Points for a normalized score of 10,000.', example: 500 }),
    caps: GameCaps,
    verification: Verification,
    rewards: z
      .boolean()
      .optional()
      .meta({ description: 'Whether points of this game count for reward epochs. By default true unless the verification is none.', example: true }),
  })
  .meta({ id: 'GameDefinition' });
export type GameDefinition = z.output<typeof GameDefinition>;

/** A game with its id, version and secret. The secret never leaves the service. */
export interface Game extends GameDefinition {
  id: string;
  version: number;
  secret: string | null;
}

/** Returns whether a game's points count for reward epochs. If `rewards` is not set, the points count if the game verifies scores. */
export const earnsRewards = (game: GameDefinition): boolean => game.rewards ?? game.verification !== 'none';
