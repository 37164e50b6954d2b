import { z } from 'zod';
import { Units } from '#lib/draw/bytes.ts';
import { MAX_RANGE } from '#lib/draw/parameters.ts';
import { line } from '#lib/scalars.ts';

const DAY_SEC = 86_400;

/** A prize in the arcade's own token or in stablecoin. `amount` is in base units, as text. */
export const PrizeTerms = z
  .strictObject({
    amount: Units.refine((text) => text !== '0', 'must be at least 1').meta({ description: 'The amount in base units.', example: '5000000' }),
    mint: z.enum(['reward', 'usdc']).meta({ description: '`reward`: the arcade’s own token. `usdc`: stablecoin.', example: 'usdc' }),
  })
  .meta({ id: 'Prize' });
export type PrizeTerms = z.output<typeof PrizeTerms>;

/** The terms of a chat round. */
export const ChatRoundTerms = z
  .strictObject({
    title: line(120).meta({ example: 'Friday night draw' }),
    picks: z.int().min(1).max(20).default(5).meta({ description: 'Number of numbers in an entry and in the draw.' }),
    range: z.int().min(1).max(MAX_RANGE).default(50).meta({ description: 'The highest number; the lowest is 1.' }),
    prizes: z.array(PrizeTerms).min(1).max(100).meta({ description: 'The prizes by place: the first is for the first winner.' }),
    durationSec: z
      .int()
      .min(1)
      .max(30 * DAY_SEC)
      .meta({ description: 'Seconds during which entries are accepted.', example: 600 }),
    maxEntriesPerWallet: z.int().min(1).max(1_000).default(1),
  })
  .refine(({ picks, range }) => picks <= range, { path: ['picks'], error: 'must not exceed range' })
  .meta({ id: 'ChatRoundTerms' });
export type ChatRoundTerms = z.output<typeof ChatRoundTerms>;
