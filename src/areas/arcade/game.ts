import { z } from 'zod';
import { Normalization } from '#lib/normalization.ts';
import { line, Slug } from '#lib/scalars.ts';

/** Words that stand where a game's id would: `/game/referral/leaderboard`. */
const RESERVED = new Set(['referral']);

/** The id of a game to be. */
export const GameId = Slug.refine((id) => !RESERVED.has(id), 'must not be a reserved word').meta({ id: 'GameId', example: 'star-raiders' });

/** How a game's scores are believed: not at all, by a play, or by a play with a session that beats every 5 s. */
export const VERIFICATIONS = ['none', 'play', 'heartbeat'] as const;
export const Verification = z.enum(VERIFICATIONS).meta({
  id: 'Verification',
  description: 'How scores are believed: none = not at all; play = by a play; heartbeat = by a play whose session sends a heartbeat every 5 s.',
  example: 'play',
});

/** What limits a game's scores. */
export const GameCaps = z
  .strictObject({
    dailyPoints: z.int().min(0).max(100_000_000).meta({ description: 'Points that one wallet may earn in this game a day.', example: 5_000 }),
    scorePerSec: z
      .number()
      .positive()
      .max(1e12)
      .optional()
      .meta({ description: 'Raw score per second of play above which a score is held.', example: 500 }),
    minDurationMs: z.int().min(0).max(86_400_000).default(0).meta({ description: 'The shortest play that is believed, ms.', example: 15_000 }),
    maxDurationMs: z
      .int()
      .min(1_000)
      .max(7 * 86_400_000)
      .default(6 * 3_600_000)
      .meta({ description: 'The longest play that is believed, ms.', example: 1_800_000 }),
  })
  .refine((caps) => caps.minDurationMs < caps.maxDurationMs, { path: ['minDurationMs'], message: 'must be below maxDurationMs' })
  .meta({ id: 'GameCaps' });

/** A game as the registry holds it, without its id and its secret. */
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
      .meta({ description: 'Whether points of this game count for reward epochs; by default those of verified games do.', example: true }),
  })
  .meta({ id: 'GameDefinition' });
export type GameDefinition = z.output<typeof GameDefinition>;

/** A game as the service works with it. The secret stays inside. */
export interface Game extends GameDefinition {
  id: string;
  version: number;
  secret: string | null;
}

/** Whether a game's points count for reward epochs. */
export const earnsRewards = (game: GameDefinition): boolean => game.rewards ?? game.verification !== 'none';
