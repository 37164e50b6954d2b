import { z } from 'zod';
import { Normalization } from '#lib/normalization.ts';
import { line, Slug } from '#lib/scalars.ts';
import { DEFAULT_REVIEW, ReviewRules } from './review-rules.ts';

/** Words that cannot be ids of games, because a path such as `/game/referral/leaderboard` has the word in place of an id. */
const RESERVED = new Set(['referral']);

/** Id of a new game. */
export const GameId = Slug.refine((id) => !RESERVED.has(id), 'must not be a reserved word').meta({ id: 'GameId', example: 'star-raiders' });

/**
 * Ways to verify scores. `none`: no verification. `play`: each score names a play. `heartbeat`: each score names a play, and the client sends a
 * heartbeat every 5 s over the WebSocket of the play's session. `replay`: each score names a play and has its input log, and the score is the result of
 * the game's simulation.
 */
const VERIFICATIONS = ['none', 'play', 'heartbeat', 'replay'] as const;
export const Verification = z.enum(VERIFICATIONS).meta({
  id: 'Verification',
  description:
    'How scores are verified. none: not at all; play: by a play; heartbeat: by a play whose session sends a heartbeat every 5 s; replay: by running the inputs of the play again.',
  example: 'play',
});

const dailyPoints = z
  .int()
  .min(0)
  .max(100_000_000)
  .meta({ description: 'Maximum points that a wallet can earn in this game per UTC day.', example: 5_000 });
const maxDurationMs = z
  .int()
  .min(1_000)
  .max(7 * 86_400_000)
  .default(6 * 3_600_000)
  .meta({ description: 'Maximum duration of a play, ms. Longer plays are refused.', example: 1_800_000 });

/** The limits that everybody may read. The other limits would tell a bot how fast and how short its plays may be. */
export const PublicCaps = z.strictObject({ dailyPoints, maxDurationMs }).meta({ id: 'PublicGameCaps' });

/** Returns the public part of the limits of a game. */
export const publicCaps = ({ dailyPoints, maxDurationMs }: z.output<typeof GameCaps>): z.output<typeof PublicCaps> => ({
  dailyPoints,
  maxDurationMs,
});

/** Limits of a game's scores and points. */
export const GameCaps = z
  .strictObject({
    dailyPoints,
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
    maxDurationMs,
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
    maxLivePlays: z
      .int()
      .min(1)
      .max(1_000)
      .default(1)
      .meta({ description: 'A play ends when its wallet has started this many newer plays of the game.', example: 1 }),
    review: ReviewRules.default(DEFAULT_REVIEW),
    rewards: z
      .boolean()
      .optional()
      .meta({ description: 'Whether points of this game count for reward epochs. By default true unless the verification is none.', example: true }),
    simulation: z
      .string()
      .regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hex digits')
      .optional()
      .meta({ description: 'Required if the verification is replay: the hash of a module that `PUT /admin/games/{id}/simulation` stored.' }),
  })
  .refine((game) => (game.verification === 'replay') === (game.simulation !== undefined), {
    path: ['simulation'],
    message: 'must be present exactly when the verification is replay',
  })
  .meta({ id: 'GameDefinition' });
export type GameDefinition = z.output<typeof GameDefinition>;

/** A game with its id, version and secret. The secret never leaves the service. */
export interface Game extends GameDefinition {
  id: string;
  version: number;
  secret: string | null;
}

/** A configuration as the database has it. A configuration that an earlier version of the service stored lacks the newer fields. */
export type StoredDefinition = Omit<GameDefinition, 'maxLivePlays' | 'review'> & { maxLivePlays?: number; review?: Partial<ReviewRules> };

/** Adds the defaults of the fields that a stored configuration lacks. */
export const completeDefinition = (stored: StoredDefinition): GameDefinition => ({
  ...stored,
  maxLivePlays: stored.maxLivePlays ?? 1,
  review: { ...DEFAULT_REVIEW, ...stored.review },
});

/** Returns whether a game's points count for reward epochs. If `rewards` is not set, the points count if the game verifies scores. */
export const earnsRewards = (game: GameDefinition): boolean => game.rewards ?? game.verification !== 'none';
