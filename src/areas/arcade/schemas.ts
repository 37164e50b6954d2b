import { z } from 'zod';
import { Normalization, SCALE } from '#lib/normalization.ts';
import { Count, Id, Instant, Slug } from '#lib/scalars.ts';
import { type Game, GameDefinition, PublicCaps, Verification } from './games/definition.ts';
import { proofsOf } from './games/proofs.ts';
import { DEFAULT_REVIEW } from './games/review-rules.ts';
import { SimulationView } from './replays/schemas.ts';

/**
 * Maximum numbers per body that JSON writes with an exponent (such as 1e300). PostgreSQL stores such a number with up to hundreds of digits, so a
 * body of only these numbers would be 60 times as large in the database.
 */
const MAX_LONG_NUMBERS = 1_000;
const isLong = (value: number) => value !== 0 && (Math.abs(value) >= 1e21 || Math.abs(value) < 1e-6);

/** Returns whether PostgreSQL can store every number of a JSON value. The HTTP layer limits the size and the depth of the body. */
function isStorable(value: unknown): boolean {
  const left = [value];
  let long = 0;
  while (left.length > 0) {
    const item = left.pop();
    if (typeof item === 'number') {
      if (!Number.isFinite(item) || (isLong(item) && ++long > MAX_LONG_NUMBERS)) return false;
    } else if (typeof item === 'object' && item !== null) {
      for (const member of Object.values(item)) left.push(member);
    }
  }
  return true;
}
const STORABLE = `must hold finite numbers only, and at most ${MAX_LONG_NUMBERS} that are written with an exponent`;

/** Any JSON value, up to 256 KB. Does not use z.json(), because z.json() takes 250 ms for a value of this size. */
export const FreeJson = z.unknown().refine(isStorable, STORABLE);
/** Any JSON object, up to 256 KB. */
export const FreeObject = z.looseObject({}).refine(isStorable, STORABLE);

/** Path parameter with a game's id. */
export const GamePath = z.object({ id: Slug.meta({ description: 'The game’s id.', example: 'star-raiders' }) });

/** Fields of a game for the examples below. */
const EXAMPLE = {
  normalization: { method: 'linear', min: 0, max: 100_000, direction: 'higher' },
  pointsPer10000: 500,
  caps: { dailyPoints: 5_000, maxDurationMs: 1_800_000 },
  verification: 'heartbeat',
  rewards: true,
} as const;

/** Public fields of a game. */
export const GameSummary = z
  .strictObject({
    id: Slug,
    name: z.string(),
    category: Slug,
    verification: Verification,
    proves: z.array(z.string()).meta({ description: 'What the verification of the game proves about an accepted score.' }),
    version: z.int().min(1),
  })
  .meta({
    id: 'GameSummary',
    example: {
      id: 'star-raiders',
      name: 'Star Raiders',
      category: 'shooter',
      verification: 'heartbeat',
      proves: proofsOf({ verification: 'heartbeat', secret: null }),
      version: 1,
    },
  });

/** Returns the public fields of a game. */
export const gameSummary = (game: Game): z.output<typeof GameSummary> => {
  const { id, name, category, verification, version } = game;
  return { id, name, category, verification, proves: proofsOf(game), version };
};

/** Rules by which scores become points. */
export const NormalizationConfig = z
  .strictObject({
    scale: z.literal(SCALE).meta({ description: 'The highest possible normalized score.' }),
    dailyPointsCap: Count.meta({ description: 'Maximum points that a wallet can earn per UTC day over all games.', example: 50_000 }),
    games: z.array(
      z.strictObject({
        id: Slug,
        normalization: Normalization,
        pointsPer10000: Count.meta({ description: 'Points for a normalized score of 10,000.', example: 500 }),
        caps: PublicCaps,
        verification: Verification,
        rewards: z.boolean().meta({ description: 'Whether points of this game count for reward epochs.' }),
      }),
    ),
  })
  .meta({ id: 'NormalizationConfig', example: { scale: SCALE, dailyPointsCap: 50_000, games: [{ id: 'star-raiders', ...EXAMPLE }] } });

/** A game as operators see it. Shows whether the game has a secret, but not the secret. */
export const GameView = GameDefinition.safeExtend({
  id: Slug,
  version: z.int().min(1),
  rewards: z.boolean(),
  hasSecret: z.boolean(),
}).meta({
  id: 'Game',
  example: {
    ...{ id: 'star-raiders', version: 3, name: 'Star Raiders', category: 'shooter' },
    ...EXAMPLE,
    caps: { ...EXAMPLE.caps, scorePerSec: 500, minDurationMs: 15_000 },
    maxLivePlays: 1,
    review: DEFAULT_REVIEW,
    hasSecret: false,
  },
});

export const CabinetView = z
  .strictObject({
    id: Slug,
    gameId: Slug,
    status: z.enum(['normal', 'possessed']),
    possessedBy: z.string().nullable().meta({ description: 'The entity that controls the cabinet; null in normal operation.', example: null }),
    display: z
      .looseObject({})
      .meta({ description: 'Free-form data for front ends, such as name and position.', example: { name: 'Star Raiders', position: 1 } }),
    version: z.int().min(1),
  })
  .meta({ id: 'Cabinet' });

export const PlayReceipt = z
  .strictObject({
    playId: Id,
    gameId: Slug,
    startedAt: Instant,
    heartbeatUrl: z.string().nullable().meta({
      description: 'WebSocket URL for heartbeats; null unless the game’s verification is heartbeat.',
      example: 'wss://coinop.example/game/star-raiders/session?playId=0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a',
    }),
    seed: z.string().nullable().meta({
      description: 'Seed of the simulation: 16 bytes, hex; null unless the game’s verification is replay.',
      example: null,
    }),
    simulation: SimulationView.nullable().meta({ description: 'The simulation of the play; null unless the game’s verification is replay.' }),
  })
  .meta({ id: 'PlayReceipt' });

export const GameStatsView = z
  .strictObject({
    gameId: Slug,
    totalPlays: Count.min(0).meta({ description: 'Plays in regular mode. A score without a play counts as a play.', example: 1_204 }),
    uniquePlayers: Count.min(0).meta({ description: 'Wallets with at least one of these plays.', example: 311 }),
    totalScores: Count.min(0).meta({
      description:
        'Accepted scores in regular mode. Beta, held, rejected and voided scores do not count, so there are at most as many scores as plays.',
      example: 988,
    }),
    averageScore: z
      .number()
      .min(0)
      .max(SCALE)
      .nullable()
      .meta({ description: 'Average normalized value of these scores, rounded to two decimals; null while there are none.', example: 4_210.55 }),
    bestScore: Count.min(0)
      .max(SCALE)
      .nullable()
      .meta({ description: 'Highest normalized value of these scores; null while there are none.', example: 9_871 }),
  })
  .meta({ id: 'GameStats' });

export const StateInput = z.unknown().meta({ description: 'The state: any JSON value.', example: { level: 3, coins: 120 } });

export const StateView = z
  .strictObject({
    gameId: Slug,
    state: z.unknown().meta({ description: 'The last saved state; null before the first save.', example: { level: 3, coins: 120 } }),
    version: Count.meta({ description: 'Version of the state; 0 before the first save.', example: 4 }),
    updatedAt: Instant.nullable(),
  })
  .meta({ id: 'GameState' });

export const StateSaved = z
  .strictObject({ gameId: Slug, version: z.int().min(1).meta({ example: 5 }), updatedAt: Instant })
  .meta({ id: 'GameStateSaved' });

const Hash = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .meta({ id: 'Hash', description: 'SHA-256 in hex.', example: 'a3f5b1c2d4e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f80' });

export const RecordReceipt = z
  .strictObject({
    recordId: Id,
    sequence: z.int().min(1).meta({ description: 'Number of the record in the chain of this wallet and game, from 1 on without gaps.' }),
    hash: Hash.meta({ description: 'SHA-256(previousHash ‖ SHA-256(salt ‖ the record as canonical JSON, RFC 8785)), in hex.' }),
    previousHash: Hash.meta({ description: 'Hash of the previous record, in hex; all zeros for the first record.' }),
    salt: Hash.meta({
      description: 'Random bytes of this record, in hex. Without them nobody can guess the record from its hash; keep them to prove the record.',
    }),
    recordedAt: Instant,
  })
  .meta({ id: 'RecordReceipt' });

/** A record of a hash chain with its content. */
export const RecordView = RecordReceipt.extend({
  contentHash: Hash.meta({ description: 'SHA-256(salt ‖ the record as canonical JSON, RFC 8785), in hex.' }),
  salt: Hash.nullable().meta({ description: 'Random bytes of this record, in hex; null when the record is erased.' }),
  record: z
    .looseObject({})
    .nullable()
    .meta({ description: 'The record; null when it is erased.', example: { level: 3, coins: 120 } }),
}).meta({ id: 'Record' });
