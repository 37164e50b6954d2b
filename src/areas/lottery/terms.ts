import { z } from 'zod';
import { Units } from '#lib/draw/bytes.ts';
import { EntryRules, MAX_RANGE } from '#lib/draw/parameters.ts';
import { Instant, line } from '#lib/scalars.ts';

const DAY_SEC = 86_400;

/** A prize in the arcade's own token or in stablecoin. `amount` is in base units, as text. */
export const PrizeTerms = z
  .strictObject({
    amount: Units.refine((text) => text !== '0', 'must be at least 1').meta({ description: 'The amount in base units.', example: '5000000' }),
    mint: z.enum(['reward', 'usdc']).meta({ description: '`reward`: the arcade’s own token. `usdc`: stablecoin.', example: 'usdc' }),
  })
  .meta({ id: 'Prize' });
export type PrizeTerms = z.output<typeof PrizeTerms>;

/** The terms that a wallet must meet to enter a round. A term that is absent does not apply. */
export const EntryRuleTerms = z
  .strictObject({
    minTokenBalance: PrizeTerms.optional().meta({ description: 'The wallet holds at least this amount of the token.' }),
    minAcceptedScores: EntryRules.shape.minAcceptedScores.unwrap().optional().meta({
      description: 'The wallet has at least this many accepted scores.',
      example: 3,
    }),
    linkedAccount: EntryRules.shape.linkedAccount.unwrap().optional().meta({
      description: 'The wallet has linked an account of this network before the round opened.',
      example: 'x',
    }),
    signedInBefore: Instant.optional().meta({ description: 'The wallet signed in for the first time before this time.' }),
  })
  .meta({ id: 'EntryRules' });
export type EntryRuleTerms = z.output<typeof EntryRuleTerms>;

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
    entryRules: EntryRuleTerms.default({}).meta({
      description: 'Terms that a wallet must meet to enter; an entry of another wallet is refused (403).',
      example: {},
    }),
  })
  .refine(({ picks, range }) => picks <= range, { path: ['picks'], error: 'must not exceed range' })
  .meta({ id: 'ChatRoundTerms' });
export type ChatRoundTerms = z.output<typeof ChatRoundTerms>;
