import { z } from 'zod';
import type { Rules } from '#lib/allocation.ts';

/** The most that a token amount can be: 64 bits. */
export const MAX_AMOUNT = 2n ** 64n - 1n;

/** A token amount: base units as decimal text, at most 2^64 − 1. */
export const TokenAmount = z
  .string()
  .regex(/^(?:0|[1-9]\d{0,19})$/, { error: 'must be a whole number of base units as text', abort: true })
  .refine((text) => BigInt(text) <= MAX_AMOUNT, `must be at most ${MAX_AMOUNT}`);

/** What each day gives, and how: set by operators. */
export const RewardRules = z
  .strictObject({
    pool: TokenAmount.meta({ description: 'What one day gives at most, base units.', example: '100000000000' }),
    cap: TokenAmount.nullable()
      .default(null)
      .meta({ description: 'What one wallet gets of a day at most; null: all of it.', example: '10000000000' }),
    dust: TokenAmount.default('0').meta({ description: 'Amounts below this are not paid.', example: '10000' }),
    // The program takes 1 to 400 days from when it is asked; a day of slack on either side.
    expiryDays: z
      .int()
      .min(2)
      .max(399)
      .default(90)
      .meta({ description: 'How long an epoch can be claimed from when it is on the chain, days.', example: 90 }),
    automatic: z.boolean().default(true).meta({
      description: 'Whether days that have ended are computed by themselves; otherwise they wait for a trigger or an import.',
      example: true,
    }),
  })
  .refine((rules) => rules.cap === null || BigInt(rules.cap) >= BigInt(rules.dust), { path: ['cap'], message: 'must be at least dust' });
export type RewardRules = z.output<typeof RewardRules>;

/** What holds until an operator sets something else: version 0. */
export const DEFAULT_RULES: RewardRules = { pool: '100000000000', cap: '10000000000', dust: '10000', expiryDays: 90, automatic: true };

/** Rules as the formula takes them. */
export const allocationRules = ({ pool, cap, dust }: Pick<RewardRules, 'pool' | 'cap' | 'dust'>): Rules => ({
  pool: BigInt(pool),
  cap: cap === null ? null : BigInt(cap),
  dust: BigInt(dust),
});
