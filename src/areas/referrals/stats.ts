import { sql } from 'kysely';
import { dayNumber, dayStart } from '#lib/periods.ts';
import type { App } from '#platform/app.ts';
import { isoInstant, queryBuilder, run } from '#platform/db/query-builder.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import { ReferralDaysTable, ReferralsTable } from './entities.ts';
import { urlOf } from './links.ts';
import type { ReferralStats, ReferralSummary, ReferredWallet } from './schemas.ts';

/** Days in `earnings.byDay`, including today. */
const DAYS = 30;
/** Maximum wallets in `earnings.topWallets`. */
const MAX_TOP_WALLETS = 10;

/**
 * Returns the SQL condition for a referral whose last score is at most `days` days old. The subquery calls app_now() once per statement, not per row.
 */
const scoredWithin = (days: number) => `last_scored_at > (select app_now() - interval '${days} days')`;
/** SQL: a referral is active for 30 days after the last score of the referred wallet. */
const ACTIVE = scoredWithin(30);

const build = queryBuilder([ReferralsTable, ReferralDaysTable]);

interface ReferralTotals {
  referralCount: number;
  verifiedReferrals: number;
  activeLast7Days: number;
  activeReferrals: number;
  pointsEarned: number;
  betaPointsEarned: number;
}
/** Aggregates a referrer's rows in one scan of the index `referrals_referrer`. */
export const selectTotals = statement<ReferralTotals>(
  'select_referral_totals',
  `select count(*)::int as "referralCount", count(verified_at)::int as "verifiedReferrals", (count(*) filter (where ${scoredWithin(7)}))::int as "activeLast7Days",
     (count(*) filter (where ${ACTIVE}))::int as "activeReferrals", coalesce(sum(points), 0)::float8 as "pointsEarned",
     coalesce(sum(beta_points), 0)::float8 as "betaPointsEarned"
   from referrals where referrer = $1`,
);

async function readTotals(db: Queryable, wallet: string): Promise<ReferralTotals> {
  const [totals] = await db.query(selectTotals, [wallet]);
  if (!totals) throw new Error('the statement select_referral_totals returned no row');
  return totals;
}

/** Reads the totals of a wallet's referrals. */
export async function readSummary(app: App, wallet: string): Promise<ReferralSummary> {
  const selectOwn = build.selectFrom('referrals').select('referrer').where('wallet', '=', wallet);
  const [{ activeLast7Days: _, ...totals }, [own]] = await Promise.all([readTotals(app.db, wallet), run(app.db, selectOwn)]);
  return { ...totals, referredBy: own?.referrer ?? null };
}

export const selectLinks = statement<{ code: string; createdAt: string; bindings: number; verified: number }>(
  'select_referral_links',
  `select l.code, ${instant('l.created_at')} as "createdAt", coalesce(r.bindings, 0) as bindings, coalesce(r.verified, 0) as verified
   from referral_links l
   left join (select code, count(*)::int as bindings, count(verified_at)::int as verified from referrals where referrer = $1 group by code) r on r.code = l.code
   where l.wallet = $1 order by l.n desc`,
);
/** Selects a referrer's points per day, of the days after a UTC day number. */
export const selectDays = (referrer: string, after: number) =>
  build
    .selectFrom('referral_days')
    .select(({ cast }) => ['day', 'used', cast<number>('points', 'float8').as('points')])
    .where('referrer', '=', referrer)
    .where('day', '>', after);
/** Selects the referred wallets that earned the most points for a referrer. */
export const selectTop = (referrer: string) =>
  build
    .selectFrom('referrals')
    .select(({ cast }) => ['wallet', cast<number>('points', 'float8').as('points')])
    .where('referrer', '=', referrer)
    .where('points', '>', '0')
    .orderBy('referrals.points', 'desc')
    .orderBy('wallet')
    .limit(MAX_TOP_WALLETS);

const percentOf = (part: number, whole: number) => (whole === 0 ? null : Math.round((10_000 * part) / whole) / 100);

/** Reads the statistics of a wallet's links and referrals. */
export async function readStats(app: App, wallet: string): Promise<ReferralStats> {
  const today = dayNumber(app.clock.now());
  const [totals, links, days, topWallets] = await Promise.all([
    readTotals(app.db, wallet),
    app.db.query(selectLinks, [wallet]),
    run(app.db, selectDays(wallet, today - DAYS)),
    run(app.db, selectTop(wallet)),
  ]);
  const byDay = new Map(days.map((row) => [row.day, row]));
  const cap = app.config.referralDailyCap;
  const used = byDay.get(today)?.used ?? 0;
  return {
    links: links.map((link) => ({ ...link, url: urlOf(app.config, link.code) })),
    conversion: {
      bound: totals.referralCount,
      verified: totals.verifiedReferrals,
      percent: percentOf(totals.verifiedReferrals, totals.referralCount),
    },
    active: { last7Days: totals.activeLast7Days, last30Days: totals.activeReferrals },
    earnings: {
      points: totals.pointsEarned,
      betaPoints: totals.betaPointsEarned,
      byDay: Array.from({ length: DAYS }, (_, i) => {
        const day = today - DAYS + 1 + i;
        return { day: dayStart(day).toISOString().slice(0, 10), points: byDay.get(day)?.points ?? 0 };
      }),
      topWallets,
    },
    today: { cap, used, left: Math.max(cap - used, 0), resetsAt: dayStart(today + 1).toISOString() },
  };
}

/** Selects a page of the wallets that a wallet referred, newest first. */
export const selectReferred = (referrer: string, limit: number, offset: number) =>
  build
    .selectFrom('referrals')
    .select(({ cast }) => [
      'wallet',
      isoInstant('bound_at').as('boundAt'),
      isoInstant<string | null>('verified_at').as('verifiedAt'),
      sql<boolean>`coalesce(${sql.raw(ACTIVE)}, false)`.as('active'),
      cast<number>('points', 'float8').as('points'),
    ])
    .where('referrer', '=', referrer)
    .orderBy('bound_at', 'desc')
    .orderBy('wallet')
    .limit(limit)
    .offset(offset);
/** Counts the wallets that a wallet referred. */
export const countReferred = (referrer: string) =>
  build
    .selectFrom('referrals')
    .select(({ cast, fn }) => cast<number>(fn.countAll(), 'integer').as('total'))
    .where('referrer', '=', referrer);

/** Reads a page of the wallets that a wallet referred, newest first, and the number of all of them. */
export async function readReferred(
  db: Queryable,
  wallet: string,
  limit: number,
  offset: number,
): Promise<{ referred: ReferredWallet[]; total: number }> {
  const [referred, [count]] = await Promise.all([run(db, selectReferred(wallet, limit, offset)), run(db, countReferred(wallet))]);
  return { referred, total: count?.total ?? 0 };
}
