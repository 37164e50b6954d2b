import { z } from 'zod';
import { Count, Id, Instant, Wallet } from '#lib/scalars.ts';

const points = (description: string, example = 4_200) => Count.meta({ description, example });
const BaseUnits = z.string().regex(/^\d+$/);

export const GameLine = z
  .strictObject({
    gameId: z.string().meta({ example: 'star-raiders' }),
    best: Count.meta({ description: 'The best normalized score, 0 to 10,000.', example: 8_400 }),
    scores: Count.meta({ description: 'Accepted scores.', example: 31 }),
    points: points('What they gave.', 1_260),
  })
  .meta({ id: 'GameLine' });

const Sources = z
  .strictObject({
    games: points('From games.', 1_260),
    quests: points('From quests.', 500),
    referrals: points('From referrals.', 40),
    conversions: points('Beta points that were made regular: what they became, or, among beta points, less what they were.', 2_400),
  })
  .meta({ id: 'PointSources', description: 'What points are from. They add up to the total.' });

const Period = z
  .strictObject({
    points: points('All points of the period.', 120),
    games: points('Those from games.', 90),
    quests: points('Those from quests.', 20),
    referrals: points('Those from referrals.', 10),
  })
  .meta({ id: 'PeriodPoints' });

const games = z.array(GameLine);
const rank = Count.nullable().meta({ description: 'Competition rank on the global leaderboard; null without points.', example: 12 });
const percentile = z
  .number()
  .nullable()
  .meta({ description: 'Share of the listed wallets that rank no better, in percent; null without a rank.', example: 98.5 });
const memberSince = Instant.meta({ description: 'When the wallet first signed in.' });

const Owed = z
  .strictObject({ amount: BaseUnits.meta({ description: 'Base units.', example: '25000000' }), payments: Count.meta({ example: 1 }) })
  .meta({ id: 'PendingAmount' });

export const Profile = z
  .strictObject({
    wallet: Wallet,
    memberSince,
    points: z.strictObject({
      total: points('Regular points of all time.'),
      today: points('Of this UTC day; conversions count for no period.', 120),
      week: points('Of this ISO week.', 640),
      sources: Sources,
    }),
    rank,
    percentile,
    tokenBalance: BaseUnits.nullable().meta({
      description: 'Base units of the token that the wallet holds; null where no token is configured, and while it is not known.',
      example: '2500000000',
    }),
    eligible: z.boolean().nullable().meta({ description: 'Whether the wallet holds enough of the token; null while it is not known.' }),
    pendingPayments: z.strictObject({ usdc: Owed, reward: Owed }).meta({ description: 'What the wallet is owed and has not been paid.' }),
    linkedAccounts: z.array(
      z
        .strictObject({ platform: z.string().meta({ example: 'x' }), handle: z.string().meta({ example: 'coinop' }), linkedAt: Instant })
        .meta({ id: 'ProfileLink' }),
    ),
    beta: z.strictObject({
      enabled: z.boolean().meta({ description: 'Whether new points are beta points.' }),
      points: points('Beta points not converted yet.', 300),
    }),
    games: z.strictObject({
      played: Count.meta({ description: 'Games with an accepted score.', example: 4 }),
      scores: Count.meta({ description: 'Accepted scores over all games.', example: 96 }),
      top: games.max(5).meta({ description: 'The games with the best scores, five at most.' }),
    }),
  })
  .meta({ id: 'Profile' });

export const BetaPoints = z
  .strictObject({
    total: points('Beta points of all time, less those taken back.', 1_000),
    converted: points('Those that were converted.', 700),
    unconverted: points('Those left: below 0 where points were taken back after they had been converted.', 300),
    sources: Sources.omit({ conversions: true }).meta({ id: 'BetaSources', description: 'What the total is from.' }),
    games: games.meta({ description: 'Best first.' }),
  })
  .meta({ id: 'BetaPoints' });

export const BetaStats = z
  .strictObject({
    enabled: z.boolean().meta({ description: 'Whether new points are beta points.' }),
    points: z.strictObject({
      total: points('Beta points of all time, less those taken back.', 1_000),
      today: points('Of this UTC day.', 120),
      week: points('Of this ISO week.', 640),
    }),
    gamesPlayed: Count.meta({ description: 'Games with an accepted beta score.', example: 2 }),
    scores: Count.meta({ description: 'Accepted beta scores.', example: 31 }),
    converted: z.strictObject({
      betaPoints: points('Beta points that were converted.', 700),
      points: points('The regular points that they became.', 350),
      conversions: z
        .array(
          z
            .strictObject({
              id: Id,
              rate: z.string().meta({ description: 'Regular points for a beta point.', example: '0.5' }),
              betaPoints: points('Beta points that were converted.', 700),
              points: points('The regular points that they became.', 350),
              at: Instant,
            })
            .meta({ id: 'PastConversion' }),
        )
        .meta({ description: 'Newest first, 20 at most.' }),
    }),
  })
  .meta({ id: 'BetaStats' });

export const BetaPreference = z
  .strictObject({ enabled: z.boolean().meta({ description: 'Whether new points are beta points.', example: true }) })
  .meta({ id: 'BetaPreference' });

export const BetaPreferenceRequest = z
  .strictObject({ enabled: z.boolean('must be true or false').optional().meta({ description: 'Absent, the preference is toggled.', example: true }) })
  .meta({ id: 'BetaPreferenceRequest' });

const PointsOf = z
  .strictObject({
    total: points('Of all time.'),
    sources: Sources,
    periods: z
      .strictObject({ day: Period, week: Period, month: Period, year: Period })
      .meta({ description: 'Of the current periods in UTC; conversions count for none.' }),
    games: games.meta({ description: 'Best first.' }),
  })
  .meta({ id: 'ModePoints' });

export const PointsBreakdown = z
  .strictObject({
    wallet: Wallet,
    mode: z.enum(['regular', 'beta']).meta({ description: 'Where new points go.' }),
    regular: PointsOf,
    beta: PointsOf,
  })
  .meta({ id: 'PointsBreakdown' });

export const UserPath = z.object({ wallet: Wallet });

export const UserStats = z
  .strictObject({
    wallet: Wallet,
    memberSince,
    points: points('Regular points of all time.'),
    rank,
    percentile,
    gamesPlayed: Count.meta({ description: 'Games with an accepted score.', example: 4 }),
    scores: Count.meta({ description: 'Accepted scores over all games.', example: 96 }),
    games: games.meta({ description: 'Best first.' }),
  })
  .meta({ id: 'UserStats' });

const Rate = z
  .string('must be decimal text')
  .regex(/^(?:0|[1-9]\d{0,3})(?:\.\d{1,6})?$/, 'must be decimal text with at most 6 decimals, such as "0.5"')
  .refine((text) => Number(text) > 0 && Number(text) <= 1_000, 'must be above 0 and at most 1000');

export const ConversionRequest = z
  .strictObject({ wallet: Wallet, rate: Rate.default('1').meta({ description: 'Regular points for a beta point.', example: '0.5' }) })
  .meta({ id: 'ConversionRequest' });

export const ConversionResult = z
  .strictObject({
    id: Id.nullable().meta({ description: 'null where there was nothing to convert.' }),
    wallet: Wallet,
    rate: z.string().meta({ example: '0.5' }),
    betaPoints: points('Beta points that were converted.', 700),
    points: points('The regular points that they became, rounded down.', 350),
    betaTotal: points('Beta points that the wallet has now.', 0),
    total: points('Regular points that the wallet has now.', 4_550),
  })
  .meta({ id: 'ConversionResult' });
