import { z } from 'zod';
import type { Rules } from '#lib/allocation.ts';

/** Maximum token amount in base units: the largest unsigned 64-bit number. */
export const MAX_AMOUNT = 2n ** 64n - 1n;

/** A token amount: base units as decimal text, at most 2^64 − 1. */
export const TokenAmount = z
  .string()
  .regex(/^(?:0|[1-9]\d{0,19})$/, { error: 'must be a whole number of base units as text', abort: true })
  .refine((text) => BigInt(text) <= MAX_AMOUNT, `must be at most ${MAX_AMOUNT}`);

/** Schema of the reward rules of a day. Operators set the rules. */
export const RewardRules = z
  .strictObject({
    pool: TokenAmount.meta({ description: 'Maximum sum of the amounts of one day, base units.', example: '100000000000' }),
    cap: TokenAmount.nullable()
      .default(null)
      .meta({ description: 'Maximum amount of one wallet per day, base units; null: no maximum.', example: '10000000000' }),
    dust: TokenAmount.default('0').meta({
      description: 'Minimum amount that a wallet is paid, base units. A wallet with a smaller amount is not paid.',
      example: '10000',
    }),
    // The program accepts an expiry of 1 to 400 days after the opening transaction. `expiryDays` must be 2 to 399, so that the expiry stays within
    // these limits.
    expiryDays: z
      .int()
      .min(2)
      .max(399)
      .default(90)
      .meta({ description: 'Number of days for which rewards can be claimed after the root of the epoch is on the chain.', example: 90 }),
    automatic: z.boolean().default(true).meta({
      description:
        'Whether the service computes ended days automatically. If false, an ended day is computed only when an operator triggers or imports it.',
      example: true,
    }),
    minPlayDays: z.int().min(0).max(30).default(0).meta({
      description:
        'Minimum number of UTC days, of the 30 days up to the day of the epoch, on which a wallet got points from games. A wallet with fewer days is excluded from the epoch. 0: off.',
      example: 0,
    }),
    minAcceptedScores: z.int().min(0).max(1_000_000).default(0).meta({
      description:
        'Minimum number of accepted scores that a wallet has when the epoch is computed. A wallet with fewer scores is excluded from the epoch. 0: off.',
      example: 0,
    }),
  })
  .refine((rules) => rules.cap === null || BigInt(rules.cap) >= BigInt(rules.dust), { path: ['cap'], message: 'must be at least dust' });
export type RewardRules = z.output<typeof RewardRules>;

/** The reward rules in force until an operator sets others. Their version is 0. */
export const DEFAULT_RULES: RewardRules = {
  ...{ pool: '100000000000', cap: '10000000000', dust: '10000', expiryDays: 90, automatic: true },
  ...{ minPlayDays: 0, minAcceptedScores: 0 },
};

/** Converts the amounts in reward rules from text to the numbers that the allocation formula needs. */
export const allocationRules = ({ pool, cap, dust }: Pick<RewardRules, 'pool' | 'cap' | 'dust'>): Rules => ({
  pool: BigInt(pool),
  cap: cap === null ? null : BigInt(cap),
  dust: BigInt(dust),
});
