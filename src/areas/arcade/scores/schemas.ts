import { z } from 'zod';
import { fail } from '#lib/errors.ts';
import { SCALE } from '#lib/normalization.ts';
import { MAX_LOG_BYTES } from '#lib/replay/input-log.ts';
import { Count, Id, Instant, line, RawScore, Slug, Wallet } from '#lib/scalars.ts';
import { JsonText } from '#platform/http/json-text.ts';

/** The request body of `POST /arcade/score`. */
export const ScoreRequest = z
  .strictObject({
    gameId: Slug,
    score: RawScore.meta({ description: 'Raw score, from min to max of the game’s normalization.' }),
    playId: Id.optional().meta({ description: 'Id of the play. Required unless the game’s verification is none.' }),
    durationMs: z
      .int()
      .min(0)
      .max(7 * 86_400_000)
      .optional(),
    battleId: Id.optional().meta({
      description:
        'A running battle of this game that the caller joined. The score counts for the battle if it is accepted before the battle ends, including a held score that a moderator accepts by then.',
    }),
    signature: z
      .string()
      .regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hex digits')
      .optional()
      .meta({ description: 'Required if the game has a secret: hex HMAC-SHA256(secret, `v1:{playId}:{wallet}:{score}:{durationMs}`).' }),
    replay: z
      .base64()
      .max(Math.ceil(MAX_LOG_BYTES / 3) * 4)
      .optional()
      .meta({
        description: 'Required if the game’s verification is replay: the input log of the play, base64. docs/replays.md describes its format.',
      }),
  })
  .meta({
    id: 'ScoreRequest',
    example: { gameId: 'star-raiders', score: 48_210, playId: '0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a', durationMs: 93_000 },
  });
export type ScoreRequest = z.output<typeof ScoreRequest>;

export const ScoreStatus = z.enum(['accepted', 'held', 'rejected', 'voided']).meta({ id: 'ScoreStatus' });
export type ScoreStatus = z.infer<typeof ScoreStatus>;

export const NoPointsReason = z.enum(['held', 'rejected', 'voided', 'game-earns-nothing', 'low-score', 'game-cap', 'daily-cap']).meta({
  id: 'NoPointsReason',
  description:
    'Why a score gives no points. held, rejected, voided: the score is not accepted. game-earns-nothing: no score of the game gives points. low-score: the normalized score is below one point. ' +
    'game-cap: the wallet had reached the daily cap of the game. daily-cap: it had reached the daily cap over all games.',
});
export type NoPointsReason = z.infer<typeof NoPointsReason>;

const noPointsReason = NoPointsReason.nullable().meta({ description: 'Why `pointsAwarded` is 0; null when the score gives points.', example: null });

export const ScoreRank = z
  .strictObject({
    rank: Count.nullable(),
    score: Count,
    percentile: z.number().nullable(),
    pointsToNext: Count.nullable().meta({
      description: 'Difference to the next better score on the board; null for the best wallet, and without a rank.',
    }),
    neighbours: z.array(z.strictObject({ rank: Count, wallet: z.string(), score: Count })),
  })
  .meta({ id: 'ScoreRank' });

/** The response to a submission: the score as it was recorded. */
export const ScoreReceipt = z
  .strictObject({
    scoreId: Id,
    status: ScoreStatus,
    normalizedScore: z.int().min(0).max(SCALE),
    pointsAwarded: Count.min(0).meta({ description: 'Points that the score gives; 0 unless it is accepted, so 0 after a void.', example: 240 }),
    noPointsReason,
    leftToday: z
      .strictObject({
        game: Count.min(0).meta({ description: 'In this game. Never more than `all`.', example: 4_760 }),
        all: Count.min(0).meta({ description: 'In all games together.', example: 49_760 }),
      })
      .meta({ description: 'Points that the daily caps still allow the wallet to earn on the current UTC day, after this score.' }),
    personalBest: z
      .boolean()
      .meta({ description: 'Whether the score was the wallet’s best in the game when it was recorded; false unless it is accepted.' }),
    rank: ScoreRank.meta({ description: 'The wallet’s rank on the game’s all-time board, read after the commit.' }),
  })
  .meta({ id: 'ScoreReceipt' });
export type ScoreReceipt = z.infer<typeof ScoreReceipt>;

/** The worker's reply about one submission. */
export type ScoreOutcome = { status: 200; receipt: ScoreReceipt } | { status: 400 | 403 | 404 | 409 | 503; error: string };

/** Encodes an outcome as one line: its status, then the receipt or the error as JSON. */
export const encodeOutcome = (outcome: ScoreOutcome): string =>
  `${outcome.status} ${JSON.stringify(outcome.status === 200 ? outcome.receipt : outcome.error)}`;

/**
 * Reads the receipt from a line of `encodeOutcome`.
 * @throws the error of the outcome
 */
export function receiptIn(line: string): JsonText<ScoreReceipt> {
  const [status, json] = [Number(line.slice(0, 3)), line.slice(4)];
  if (status !== 200) throw fail(status, JSON.parse(json));
  return new JsonText(json);
}

/** A score with the details that moderators see. */
export const ScoreDetail = z
  .strictObject({
    scoreId: Id,
    wallet: Wallet,
    gameId: Slug,
    status: ScoreStatus,
    score: RawScore,
    normalizedScore: z.int().min(0).max(SCALE),
    pointsAwarded: Count.min(0).meta({ description: 'Points that the score gives; 0 unless it is accepted, so 0 after a void.', example: 240 }),
    noPointsReason,
    mode: z.enum(['regular', 'beta']),
    playId: Id.nullable(),
    durationMs: Count.nullable(),
    reasons: z.array(z.string()),
    submittedAt: Instant,
    decidedAt: Instant.nullable(),
    decidedBy: z.string().nullable(),
  })
  .meta({ id: 'ScoreDetail' });
export type ScoreDetail = z.infer<typeof ScoreDetail>;

export const DecisionRequest = z
  .strictObject({ decision: z.enum(['accept', 'reject']), reason: line(200).optional() })
  .meta({ id: 'DecisionRequest', example: { decision: 'accept', reason: 'replay looks right' } });

export const RestoreRequest = z
  .strictObject({ reason: line(200) })
  .meta({ id: 'RestoreRequest', example: { reason: 'the client was not modified' } });

export const VoidRequest = z.strictObject({ reason: line(200) }).meta({ id: 'VoidRequest', example: { reason: 'modified client' } });
