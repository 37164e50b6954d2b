import { z } from 'zod';
import { PageQuery } from '#lib/paging.ts';
import { Period } from '#lib/periods.ts';
import { Count, Day, Instant, Points, RawScore, Slug, Wallet } from '#lib/scalars.ts';

const PERIOD_FIELDS = {
  period: Period.optional().meta({ description: 'Period of the board, in UTC; a week begins on Monday. All time by default.' }),
  at: Day.optional().meta({ description: 'A UTC day in the selected period; the current day by default. Ended periods keep their final ranks.' }),
};
const atHasPeriod = (query: { period?: unknown; at?: unknown }) => query.at === undefined || query.period !== undefined;
const AT_NEEDS_PERIOD = { path: ['at'], message: 'must come with a period' };

/** Query parameters of a leaderboard. */
export const BoardQuery = PageQuery.extend({
  ...PERIOD_FIELDS,
  around: z.literal('me', 'must be me').optional().meta({
    description:
      'Centres the page on the caller and ignores offset. Near the ends of the board, the page is filled with more lines on the other side. A caller without a rank gets the top of the board.',
  }),
}).refine(atHasPeriod, AT_NEEDS_PERIOD);
export type BoardQuery = z.output<typeof BoardQuery>;

/** Query parameters that select all time or one period. */
export const OptionalPeriodQuery = z.object(PERIOD_FIELDS).refine(atHasPeriod, AT_NEEDS_PERIOD);
export type OptionalPeriodQuery = z.output<typeof OptionalPeriodQuery>;

/** Query parameters of a rank endpoint. */
export const RankQuery = z
  .object({ ...PERIOD_FIELDS, wallet: Wallet.optional().meta({ description: 'The wallet whose rank is read; the caller by default.' }) })
  .refine(atHasPeriod, AT_NEEDS_PERIOD);

/** Query parameters of period stats. */
export const PeriodQuery = z.object({
  period: Period.default('day').meta({ description: 'The period, in UTC; a week begins on Monday.' }),
  at: PERIOD_FIELDS.at,
});

export const GameParams = z.object({ id: Slug.meta({ id: 'GameRef', description: 'The game’s id.', example: 'star-raiders' }) });

const rank = Count.min(1).meta({
  description: 'Competition rank (1224): wallets with the same score share a rank, and the following ranks are skipped.',
  example: 3,
});
// Schema of an address in a response: a plain string, because the address was validated before it was stored.
const wallet = z.string().meta({ description: 'The wallet’s address.', example: '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin' });

const LINE = {
  ...{ rank: 3, wallet: '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin', name: 'coinop' },
  ...{ score: 4_200, rawScore: 42_000, at: '2026-11-21T12:00:00.000Z' },
};

const LeaderboardEntry = z
  .strictObject({
    rank,
    wallet,
    name: z.string().nullable().meta({
      description:
        'Handle of the wallet’s linked account, or else the .sol name that the wallet chose (`PUT /me/name`); null without both. At most 2 seconds old.',
      example: 'coinop',
    }),
    score: Count.meta({ example: 4_200 }),
    rawScore: RawScore.nullable().meta({
      description: 'The score as the game reported it, before its normalization; null on a board of points, because its score is a sum.',
      example: 42_000,
    }),
    at: Instant.nullable().meta({
      description: 'Time at which the wallet submitted this score, or the first of equal scores in the period; null on a board of points.',
    }),
  })
  .meta({ id: 'LeaderboardEntry', example: LINE });

/** Lines of a board, best first. Wallets with the same rank are sorted by address, descending. */
export const Leaderboard = z.array(LeaderboardEntry).meta({ id: 'Leaderboard' });

/** A wallet's rank on a board. */
export const BoardRank = z
  .strictObject({
    rank: rank.nullable().meta({ description: 'Rank of the wallet; null without points.' }),
    score: Points,
    percentile: z.number().nullable().meta({ description: 'Percentage of the wallets on the board whose rank is not better; null without a rank.' }),
    pointsToNext: Count.nullable().meta({
      description: 'Difference to the next better score on the board; null for the best wallet, and without a rank.',
    }),
    neighbours: z.array(LeaderboardEntry).meta({ description: 'The two lines before and the two lines after this wallet.' }),
  })
  .meta({
    id: 'BoardRank',
    example: {
      rank: 3,
      score: 4_200,
      percentile: 98.5,
      pointsToNext: 150,
      neighbours: [{ ...LINE, rank: 2, wallet: '4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T', score: 4_350 }],
    },
  });

const participants = Count.meta({ description: 'Number of wallets on the board.', example: 1_200 });
const topScore = Count.nullable().meta({ description: 'Best score on the board; null for an empty board.', example: 9_800 });
const points = (description: string) => Points.meta({ description, example: 88_000 });

export const GlobalStats = z
  .strictObject({
    totalParticipants: participants,
    totalPointsDistributed: points('Sum of all regular points, less points taken back.'),
    pointsBySource: z.strictObject({ games: Points, quests: Points, referrals: Points, adjustments: Points, conversions: Points }).meta({
      description:
        'Points by origin. adjustments: points that operators gave, minus the points that they took. conversions: regular points for converted beta points.',
    }),
    topScore,
    participantsToday: participants,
    pointsToday: points('Sum of the points of the wallets on the board of the current UTC day.'),
  })
  .meta({ id: 'GlobalStats' });
export type GlobalStats = z.infer<typeof GlobalStats>;

export const QuestStats = z
  .strictObject({
    totalParticipants: participants,
    totalPointsDistributed: points('Sum of all regular quest points, less points taken back.'),
    topScore,
    participantsToday: participants,
    pointsToday: points('Sum of the points of the wallets on the board of the current UTC day.'),
  })
  .meta({ id: 'QuestStats' });
export type QuestStats = z.infer<typeof QuestStats>;

export const PeriodStats = z
  .strictObject({
    period: Period,
    from: Day.meta({ description: 'First day of the period.' }),
    to: Day.meta({ description: 'Last day of the period.' }),
    participants,
    points: points(
      'Sum of the points of the wallets on the board. Points that are taken back count on the day on which they are taken; a wallet with no points left in the period is not on the board.',
    ),
    topScore,
    averageScore: z
      .number()
      .nullable()
      .meta({ description: 'Points per wallet on the board, rounded to two decimals; null for an empty board.', example: 73.33 }),
  })
  .meta({ id: 'PeriodStats' });
export type PeriodStats = z.infer<typeof PeriodStats>;
