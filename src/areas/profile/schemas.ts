import { z } from 'zod';
import { Count, Id, Instant, Points, Wallet } from '#lib/scalars.ts';

const points = (description: string, example = 4_200) => Points.meta({ description, example });
const BaseUnits = z.string().regex(/^\d+$/);

const GameLine = z
  .strictObject({
    gameId: z.string().meta({ example: 'star-raiders' }),
    best: Count.meta({ description: 'Best normalized score, 0 to 10,000.', example: 8_400 }),
    scores: Count.meta({ description: 'Accepted scores.', example: 31 }),
    points: points('Points from these scores.', 1_260),
  })
  .meta({ id: 'GameLine' });

const Sources = z
  .strictObject({
    games: points('Points from games.', 1_260),
    quests: points('Points from quests.', 500),
    referrals: points('Points from referrals.', 40),
    adjustments: points('Points that operators gave, minus the points that they took.', 0),
    conversions: points('Conversions. Regular mode: points from converted beta points. Beta mode: minus the converted beta points.', 2_400),
  })
  .meta({ id: 'PointSources', description: 'Points by source. They add up to the total.' });

const Period = z
  .strictObject({
    points: points('All points of the period.', 120),
    games: points('Points from games.', 90),
    quests: points('Points from quests.', 20),
    referrals: points('Points from referrals.', 10),
    adjustments: points('Points that operators gave, minus the points that they took.', 0),
  })
  .meta({ id: 'PeriodPoints' });

const games = z.array(GameLine);
const rank = Count.nullable().meta({ description: 'Competition rank on the global leaderboard; null without points.', example: 12 });
const percentile = z.number().nullable().meta({
  description: 'Percentage of the wallets on the global leaderboard that have the same or a worse rank; null without a rank.',
  example: 98.5,
});
const memberSince = Instant.meta({ description: 'Time of the first sign-in.' });

/** The same number everywhere: the sum of the beta entries of the ledger. A conversion adds a negative entry. */
const betaTotal = Points.meta({
  description: 'Beta points of the wallet that are not converted: earned minus converted. Negative when points were voided after their conversion.',
  example: 300,
});
const betaEarned = points('Beta points of all time, minus voided points: total plus converted.', 1_000);

const Owed = z
  .strictObject({ amount: BaseUnits.meta({ description: 'Amount, base units.', example: '25000000' }), payments: Count.meta({ example: 1 }) })
  .meta({ id: 'PendingAmount' });

export const Sanction = z
  .strictObject({
    type: z.enum(['ban', 'chat-ban', 'chat-mute']).meta({ description: 'ban: from the arcade.', example: 'chat-mute' }),
    since: Instant,
    until: Instant.nullable().meta({ description: 'End of a mute; null without an end.' }),
    reason: z.string().nullable().meta({ example: 'spam' }),
  })
  .meta({ id: 'Sanction' });

export const Profile = z
  .strictObject({
    wallet: Wallet,
    memberSince,
    points: z.strictObject({
      total: points('Regular points of all time.'),
      today: points('Regular points of this UTC day, without conversions.', 120),
      week: points('Regular points of this ISO week, without conversions.', 640),
      sources: Sources,
    }),
    rank,
    percentile,
    tokenBalance: BaseUnits.nullable().meta({
      description: 'Token balance of the wallet, base units; null when no token is configured or the balance is unknown.',
      example: '2500000000',
    }),
    eligible: z
      .boolean()
      .nullable()
      .meta({ description: 'Whether the wallet holds enough of the token; true when no token is configured; null when the balance is unknown.' }),
    pendingPayments: z.strictObject({ usdc: Owed, reward: Owed }).meta({ description: 'Payments to the wallet that are not paid yet.' }),
    linkedAccounts: z.array(
      z
        .strictObject({ platform: z.string().meta({ example: 'x' }), handle: z.string().meta({ example: 'coinop' }), linkedAt: Instant })
        .meta({ id: 'ProfileLink' }),
    ),
    beta: z.strictObject({
      enabled: z.boolean().meta({ description: 'Whether new points are beta points.' }),
      points: betaTotal,
    }),
    games: z.strictObject({
      played: Count.meta({ description: 'Games with an accepted score.', example: 4 }),
      scores: Count.meta({ description: 'Accepted scores over all games.', example: 96 }),
      top: games.max(5).meta({ description: 'At most five games, highest best score first.' }),
    }),
    sanctions: z.array(Sanction).max(3).meta({ description: 'Sanctions in force. `POST /me/appeals` answers one.', example: [] }),
  })
  .meta({ id: 'Profile' });

export const BetaPoints = z
  .strictObject({
    total: betaTotal,
    earned: betaEarned,
    converted: points('Converted beta points.', 700),
    sources: Sources,
    games: games.meta({ description: 'Games with an accepted score, highest best score first.' }),
  })
  .meta({ id: 'BetaPoints' });

export const BetaStats = z
  .strictObject({
    enabled: z.boolean().meta({ description: 'Whether new points are beta points.' }),
    points: z.strictObject({
      total: betaTotal,
      earned: betaEarned,
      today: points('Beta points of this UTC day.', 120),
      week: points('Beta points of this ISO week.', 640),
    }),
    gamesPlayed: Count.meta({ description: 'Games with an accepted beta score.', example: 2 }),
    scores: Count.meta({ description: 'Accepted beta scores.', example: 31 }),
    converted: z.strictObject({
      betaPoints: points('Converted beta points.', 700),
      points: points('Resulting regular points.', 350),
      conversions: z
        .array(
          z
            .strictObject({
              id: Id,
              rate: z.string().meta({ description: 'Regular points per beta point.', example: '0.5' }),
              betaPoints: points('Converted beta points.', 700),
              points: points('Resulting regular points.', 350),
              revoked: z.boolean().meta({ description: 'Whether an operator reversed the conversion.', example: false }),
              at: Instant,
            })
            .meta({ id: 'PastConversion' }),
        )
        .meta({ description: 'The newest conversions, newest first, at most 20.' }),
    }),
  })
  .meta({ id: 'BetaStats' });

export const BetaPreference = z
  .strictObject({ enabled: z.boolean().meta({ description: 'Whether new points are beta points.', example: true }) })
  .meta({ id: 'BetaPreference' });

export const BetaPreferenceRequest = z
  .strictObject({
    enabled: z.boolean('must be true or false').optional().meta({ description: 'New value. When absent, the preference is toggled.', example: true }),
  })
  .meta({ id: 'BetaPreferenceRequest' });

const PointsOf = z
  .strictObject({
    total: points('Points of all time: the sum of the ledger. In beta mode: the beta points that are not converted.'),
    sources: Sources,
    periods: z
      .strictObject({ day: Period, week: Period, month: Period, year: Period })
      .meta({ description: 'Points of the current UTC periods, without conversions.' }),
    games: games.meta({ description: 'Games with an accepted score, highest best score first.' }),
  })
  .meta({ id: 'ModePoints' });

export const PointsBreakdown = z
  .strictObject({
    wallet: Wallet,
    mode: z.enum(['regular', 'beta']).meta({ description: 'Mode in which the wallet earns new points.' }),
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
    games: games.meta({ description: 'Games with an accepted score, highest best score first.' }),
  })
  .meta({ id: 'UserStats' });

const Rate = z
  .string('must be a decimal string')
  .regex(/^(?:0|[1-9]\d{0,3})(?:\.\d{1,6})?$/, 'must be a decimal string with at most 6 decimals, such as "0.5"')
  .refine((text) => Number(text) > 0 && Number(text) <= 1_000, 'must be above 0 and at most 1000');

export const ConversionRequest = z
  .strictObject({ wallet: Wallet, rate: Rate.default('1').meta({ description: 'Regular points per beta point.', example: '0.5' }) })
  .meta({ id: 'ConversionRequest' });

export const ConversionResult = z
  .strictObject({
    id: Id.nullable().meta({ description: 'Id of the conversion; null when no points were converted.' }),
    wallet: Wallet,
    rate: z.string().meta({ example: '0.5' }),
    betaPoints: points('Converted beta points.', 700),
    points: points('Resulting regular points, rounded down.', 350),
    betaTotal: points('Beta points of the wallet that are not converted, after the conversion.', 0),
    total: points('Regular points of the wallet after the conversion.', 4_550),
  })
  .meta({ id: 'ConversionResult' });
