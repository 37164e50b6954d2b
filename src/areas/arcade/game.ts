import { z } from 'zod';
import { Normalization } from '../../lib/normalization.ts';
import { line, Slug } from '../../lib/scalars.ts';

/** Words that stand where a game's id would: `/game/referral/leaderboard`. */
const RESERVED = new Set(['referral']);

/** A game's id. */
export const GameId = Slug.refine((id) => !RESERVED.has(id), 'must not be a reserved word');

/** How a game's scores are believed: not at all, by a play, or by a play with a session that beats every 5 s. */
export const VERIFICATIONS = ['none', 'play', 'heartbeat'] as const;

/** A game as the registry holds it, without its id and its secret. */
export const GameDefinition = z
  .strictObject({
    name: line(80),
    category: Slug,
    normalization: Normalization,
    /** Points for a normalized score of 10,000. */
    pointsPer10000: z.int().min(0).max(1_000_000),
    caps: z.strictObject({
      /** Points that one wallet may earn in this game a day. */
      dailyPoints: z.int().min(0).max(100_000_000),
      /** Raw score per second of play above which a score is held. */
      scorePerSec: z.number().positive().max(1e12).optional(),
      /** Shortest and longest play that is believed, ms. */
      minDurationMs: z.int().min(0).max(86_400_000).default(0),
      maxDurationMs: z
        .int()
        .min(1_000)
        .max(7 * 86_400_000)
        .default(6 * 3_600_000),
    }),
    verification: z.enum(VERIFICATIONS),
    /** Whether points of this game count for reward epochs; by default those of verified games do. */
    rewards: z.boolean().optional(),
  })
  .refine((game) => game.caps.minDurationMs < game.caps.maxDurationMs, { path: ['caps', 'minDurationMs'], message: 'must be below maxDurationMs' })
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
