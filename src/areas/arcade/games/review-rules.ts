import { z } from 'zod';
import { SCALE } from '#lib/normalization.ts';

const orOff = (description: string, example: number) => ({ description: `${description} null switches the rule off.`, example });

/**
 * Rules that hold a score for a moderator although nothing proves that it is wrong. Operators see them; players do not, because a threshold would
 * tell a bot how to stay below it.
 */
export const ReviewRules = z
  .strictObject({
    perfectFrom: z.int().min(1).max(SCALE).nullable().default(9_900).meta(orOff('Normalized score from which a score is held.', 9_900)),
    repeatedScores: z
      .int()
      .min(2)
      .max(1_000)
      .nullable()
      .default(4)
      .meta(
        orOff(
          'Number of equal raw scores of a wallet on the present and the last UTC day from which a score is held. Applies above the lowest normalized score, in a game with at least 1,000 possible raw scores.',
          4,
        ),
      ),
    overlapSec: z
      .int()
      .min(0)
      .max(86_400)
      .nullable()
      .default(600)
      .meta(orOff('Maximum seconds by which the plays of a wallet, in all games together, may be longer than the time that passed.', 600)),
    newcomerScores: z
      .int()
      .min(1)
      .max(1_000)
      .nullable()
      .default(5)
      .meta(
        orOff(
          'Number of accepted scores in the game below which a wallet is a newcomer. A score of a newcomer is held if it would be in the top ten of a full top ten. Applies only if the game’s points count for rewards.',
          5,
        ),
      ),
    maxHeldPerWallet: z.int().min(1).max(1_000).default(20).meta({
      description: 'Maximum held scores of a wallet, in all games together. While a wallet has as many, a score that would be held is refused.',
      example: 20,
    }),
  })
  .meta({ id: 'ReviewRules' });
export type ReviewRules = z.output<typeof ReviewRules>;

export const DEFAULT_REVIEW: ReviewRules = ReviewRules.parse({});
