import { z } from 'zod';
import { PageQuery } from '#lib/paging.ts';
import { Period } from '#lib/periods.ts';
import { Count, Day, Slug } from '#lib/scalars.ts';

const When = {
  period: Period.optional().meta({ description: 'In UTC, the week from Monday on; all time by default.' }),
  at: Day.optional().meta({ description: 'A UTC day of the period that is meant; today by default. Past periods keep their final ranks.' }),
};
const atHasPeriod = (query: { period?: unknown; at?: unknown }) => query.at === undefined || query.period !== undefined;
const AT_NEEDS_PERIOD = { path: ['at'], message: 'must come with a period' };

/** Query of a leaderboard. */
export const BoardQuery = PageQuery.extend({
  ...When,
  around: z
    .literal('me', 'must be me')
    .optional()
    .meta({ description: 'Centres the page on the caller; offset counts for nothing then. A caller without a rank gets the top.' }),
}).refine(atHasPeriod, AT_NEEDS_PERIOD);
export type BoardQuery = z.output<typeof BoardQuery>;

/** Query of an endpoint about one period of a board. */
export const WhenQuery = z.object(When).refine(atHasPeriod, AT_NEEDS_PERIOD);
export type WhenQuery = z.output<typeof WhenQuery>;

/** Query of period stats: there is always a period. */
export const PeriodQuery = z.object({ period: Period.default('day'), at: When.at });

export const GameParams = z.object({ id: Slug.meta({ id: 'GameRef', description: 'The game’s id.', example: 'star-raiders' }) });

const rank = Count.min(1).meta({ description: 'Competition rank: who has the same score shares it, the next rank is skipped.', example: 3 });
// Not checked again on its way out.
const wallet = z.string().meta({ description: 'The wallet’s address.', example: '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin' });

export const LeaderboardEntry = z
  .strictObject({ rank, wallet, score: Count.meta({ example: 4_200 }) })
  .meta({ id: 'LeaderboardEntry', example: { rank: 3, wallet: '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin', score: 4_200 } });

/** Best first; who shares a rank is listed by address, descending. */
export const Leaderboard = z.array(LeaderboardEntry).meta({ id: 'Leaderboard' });

/** A wallet's place on a board. */
export const BoardRank = z
  .strictObject({
    rank: rank.nullable().meta({ description: 'null for a wallet without points.' }),
    score: Count,
    percentile: z.number().nullable().meta({ description: 'Share of the listed wallets that rank no better, in percent; null without a rank.' }),
    pointsToNext: Count.nullable().meta({ description: 'What is missing to the next better score; null for the best and without a rank.' }),
    neighbours: z.array(LeaderboardEntry).meta({ description: 'The wallets listed right before and after this one, two on either side.' }),
  })
  .meta({
    id: 'BoardRank',
    example: {
      rank: 3,
      score: 4_200,
      percentile: 98.5,
      pointsToNext: 150,
      neighbours: [{ rank: 2, wallet: '4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T', score: 4_350 }],
    },
  });

const participants = Count.meta({ description: 'Wallets that are listed.', example: 1_200 });
const topScore = Count.nullable().meta({ description: 'The best listed score; null while nobody is listed.', example: 9_800 });
const points = (description: string) => Count.meta({ description, example: 88_000 });

export const GlobalStats = z
  .strictObject({
    totalParticipants: participants,
    totalPointsDistributed: points('All regular points, less those taken back.'),
    pointsBySource: z
      .strictObject({ games: Count, quests: Count, referrals: Count, conversions: Count })
      .meta({ description: 'What they are from; conversions are beta points made regular.' }),
    topScore,
    participantsToday: participants,
    pointsToday: points('Points of this UTC day.'),
  })
  .meta({ id: 'GlobalStats' });
export type GlobalStats = z.infer<typeof GlobalStats>;

export const QuestStats = z
  .strictObject({
    totalParticipants: participants,
    totalPointsDistributed: points('All regular quest points, less those taken back.'),
    topScore,
    participantsToday: participants,
    pointsToday: points('Quest points of this UTC day.'),
  })
  .meta({ id: 'QuestStats' });
export type QuestStats = z.infer<typeof QuestStats>;

export const PeriodStats = z
  .strictObject({
    period: Period,
    from: Day.meta({ description: 'First day of the period.' }),
    to: Day.meta({ description: 'Last day of the period.' }),
    participants,
    points: points('Points of the period, less those taken back in it. Conversions count for no period.'),
    topScore,
    averageScore: z.number().nullable().meta({ description: 'Points per participant; null while nobody is listed.', example: 73.33 }),
  })
  .meta({ id: 'PeriodStats' });
export type PeriodStats = z.infer<typeof PeriodStats>;
