import type { z } from 'zod';
import { owedTo } from '#areas/payouts';
import { type Holder, readRank } from '#areas/points';
import { listLinked } from '#areas/social';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { glanceAt } from '#platform/solana/token-gate.ts';
import { holdingsOf, pointsOf, scoresIn } from './breakdown.ts';
import { newestConversions } from './convert.ts';
import type { BetaPoints, BetaStats, PointsBreakdown, Profile, UserStats } from './schemas.ts';

/** Games that a profile shows. */
const TOP_GAMES = 5;

const iso = (ms: number) => new Date(Math.floor(ms)).toISOString();

/** What the caller has. Who has a session has signed in: without a row, the record is another one than the session's. */
async function ownHoldings(app: App, wallet: string): Promise<Holder> {
  const holder = await holdingsOf(app, wallet);
  if (!holder) throw fail(401, 'a session is required, sign in first');
  return holder;
}

/** A wallet as it sees itself. */
export async function readProfile(app: App, wallet: string): Promise<z.input<typeof Profile>> {
  const [holder, { rank, percentile }, token, usdc, reward, links] = await Promise.all([
    ownHoldings(app, wallet),
    readRank(app, 'global', { span: 'all', wallet }),
    glanceAt(app, wallet),
    owedTo(app.db, wallet, 'usdc'),
    owedTo(app.db, wallet, 'reward'),
    listLinked(app.db, wallet),
  ]);
  const now = app.clock.now();
  const { total, sources, periods, games } = pointsOf(holder, 'regular', now);
  return {
    wallet,
    memberSince: iso(holder.since),
    points: { total, today: periods.day.points, week: periods.week.points, sources },
    rank,
    percentile,
    ...token,
    pendingPayments: { usdc, reward },
    linkedAccounts: links.map(({ platform, handle, linkedAt }) => ({ platform, handle, linkedAt: iso(linkedAt) })),
    beta: { enabled: holder.mode === 'beta', points: pointsOf(holder, 'beta', now).total },
    games: { played: games.length, scores: scoresIn(games), top: games.slice(0, TOP_GAMES) },
  };
}

/** A wallet's beta points, converted or not. */
export async function readBetaPoints(app: App, wallet: string): Promise<z.input<typeof BetaPoints>> {
  const holder = await ownHoldings(app, wallet);
  const { total: unconverted, sources, games } = pointsOf(holder, 'beta', app.clock.now());
  const { conversions, ...earned } = sources;
  return { total: unconverted - conversions, converted: holder.convertedBeta, unconverted, sources: earned, games };
}

/** What a wallet did in beta mode, and what became of it. */
export async function readBetaStats(app: App, wallet: string): Promise<z.input<typeof BetaStats>> {
  const [holder, conversions] = await Promise.all([ownHoldings(app, wallet), newestConversions(app.db, wallet)]);
  const { total, periods, games } = pointsOf(holder, 'beta', app.clock.now());
  const { mode, convertedBeta, convertedPoints } = holder;
  return {
    enabled: mode === 'beta',
    points: { total: total + convertedBeta, today: periods.day.points, week: periods.week.points },
    gamesPlayed: games.length,
    scores: scoresIn(games),
    converted: { betaPoints: convertedBeta, points: convertedPoints, conversions },
  };
}

/** A wallet's points in both modes, from every side. */
export async function readBreakdown(app: App, wallet: string): Promise<z.input<typeof PointsBreakdown>> {
  const holder = await ownHoldings(app, wallet);
  const now = app.clock.now();
  return { wallet, mode: holder.mode, regular: pointsOf(holder, 'regular', now), beta: pointsOf(holder, 'beta', now) };
}

/**
 * A wallet as everybody sees it: regular points alone.
 * @throws 404 a wallet that never signed in
 */
export async function readUserStats(app: App, wallet: string): Promise<z.input<typeof UserStats>> {
  const [holder, { rank, percentile }] = await Promise.all([holdingsOf(app, wallet), readRank(app, 'global', { span: 'all', wallet })]);
  if (!holder) throw fail(404, 'no such wallet has signed in');
  const { total, games } = pointsOf(holder, 'regular', app.clock.now());
  return { wallet, memberSince: iso(holder.since), points: total, rank, percentile, gamesPlayed: games.length, scores: scoresIn(games), games };
}
