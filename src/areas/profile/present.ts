import type { z } from 'zod';
import { readOwedToWallet } from '#areas/payouts';
import { type PlayerPoints, readRank } from '#areas/points';
import { listLinkedAccounts } from '#areas/social';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { peekHolding } from '#platform/solana/token-gate.ts';
import { countScores, modePointsOf, readHoldings } from './breakdown.ts';
import { readNewestConversions } from './convert.ts';
import { readSanctions } from './sanctions.ts';
import type { BetaPoints, BetaStats, PointsBreakdown, Profile, UserStats } from './schemas.ts';

/** Maximum games in a profile. */
const TOP_GAMES = 5;

const iso = (ms: number) => new Date(Math.floor(ms)).toISOString();

/**
 * Reads the standings and counters of the caller.
 * @throws 401 when the database has no row of the caller. A sign-in creates this row, so the session was created with another database.
 */
async function requireHoldings(app: App, wallet: string): Promise<PlayerPoints> {
  const holder = await readHoldings(app, wallet);
  if (!holder) throw fail(401, 'a session is required, sign in first');
  return holder;
}

/** Reads the caller's profile. */
export async function readProfile(app: App, wallet: string): Promise<z.input<typeof Profile>> {
  const [holder, { rank, percentile }, token, usdc, reward, links, sanctions] = await Promise.all([
    requireHoldings(app, wallet),
    readRank(app, 'global', { span: 'all', wallet }),
    peekHolding(app, wallet),
    readOwedToWallet(app.db, wallet, 'usdc'),
    readOwedToWallet(app.db, wallet, 'reward'),
    listLinkedAccounts(app.db, wallet),
    readSanctions(app.db, wallet),
  ]);
  const now = app.clock.now();
  const { total, sources, periods, games } = modePointsOf(holder, 'regular', now);
  return {
    wallet,
    memberSince: iso(holder.since),
    points: { total, today: periods.day.points, week: periods.week.points, sources },
    rank,
    percentile,
    ...token,
    pendingPayments: { usdc, reward },
    linkedAccounts: links.map(({ platform, handle, linkedAt }) => ({ platform, handle, linkedAt: iso(linkedAt) })),
    beta: { enabled: holder.mode === 'beta', points: modePointsOf(holder, 'beta', now).total },
    games: { played: games.length, scores: countScores(games), top: games.slice(0, TOP_GAMES) },
    sanctions,
  };
}

/** Reads a wallet's converted and unconverted beta points. */
export async function readBetaPoints(app: App, wallet: string): Promise<z.input<typeof BetaPoints>> {
  const holder = await requireHoldings(app, wallet);
  const { total, sources, games } = modePointsOf(holder, 'beta', app.clock.now());
  return { total, earned: total + holder.convertedBeta, converted: holder.convertedBeta, sources, games };
}

/** Reads a wallet's results in beta mode, and its newest conversions. */
export async function readBetaStats(app: App, wallet: string): Promise<z.input<typeof BetaStats>> {
  const [holder, conversions] = await Promise.all([requireHoldings(app, wallet), readNewestConversions(app.db, wallet)]);
  const { total, periods, games } = modePointsOf(holder, 'beta', app.clock.now());
  const { mode, convertedBeta, convertedPoints } = holder;
  return {
    enabled: mode === 'beta',
    points: { total, earned: total + convertedBeta, today: periods.day.points, week: periods.week.points },
    gamesPlayed: games.length,
    scores: countScores(games),
    converted: { betaPoints: convertedBeta, points: convertedPoints, conversions },
  };
}

/** Reads a wallet's points in both modes, by source, period and game. */
export async function readBreakdown(app: App, wallet: string): Promise<z.input<typeof PointsBreakdown>> {
  const holder = await requireHoldings(app, wallet);
  const now = app.clock.now();
  return { wallet, mode: holder.mode, regular: modePointsOf(holder, 'regular', now), beta: modePointsOf(holder, 'beta', now) };
}

/**
 * Reads the public stats of a wallet: regular points only.
 * @throws 404 when the wallet never signed in
 */
export async function readUserStats(app: App, wallet: string): Promise<z.input<typeof UserStats>> {
  const [holder, { rank, percentile }] = await Promise.all([readHoldings(app, wallet), readRank(app, 'global', { span: 'all', wallet })]);
  if (!holder) throw fail(404, 'the wallet has never signed in');
  const { total, games } = modePointsOf(holder, 'regular', app.clock.now());
  return { wallet, memberSince: iso(holder.since), points: total, rank, percentile, gamesPlayed: games.length, scores: countScores(games), games };
}
