import { dayNumber, dayStart } from '#lib/periods.ts';
import type { App } from '#platform/app.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
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
const selectReferrer = statement<{ referrer: string }>('select_referrer', 'select referrer from referrals where wallet = $1');

async function readTotals(db: Queryable, wallet: string): Promise<ReferralTotals> {
  const [totals] = await db.query(selectTotals, [wallet]);
  if (!totals) throw new Error('the statement select_referral_totals returned no row');
  return totals;
}

/** Reads the totals of a wallet's referrals. */
export async function readSummary(app: App, wallet: string): Promise<ReferralSummary> {
  const [{ activeLast7Days: _, ...totals }, [own]] = await Promise.all([readTotals(app.db, wallet), app.db.query(selectReferrer, [wallet])]);
  return { ...totals, referredBy: own?.referrer ?? null };
}

export const selectLinks = statement<{ code: string; createdAt: string; bindings: number; verified: number }>(
  'select_referral_links',
  `select l.code, ${instant('l.created_at')} as "createdAt", coalesce(r.bindings, 0) as bindings, coalesce(r.verified, 0) as verified
   from referral_links l
   left join (select code, count(*)::int as bindings, count(verified_at)::int as verified from referrals where referrer = $1 group by code) r on r.code = l.code
   where l.wallet = $1 order by l.n desc`,
);
export const selectDays = statement<{ day: number; points: number; used: number }>(
  'select_referral_days',
  'select day, points::float8 as points, used from referral_days where referrer = $1 and day > $2',
);
export const selectTop = statement<{ wallet: string; points: number }>(
  'select_top_referred',
  `select wallet, points::float8 as points from referrals where referrer = $1 and points > 0 order by referrals.points desc, wallet limit ${MAX_TOP_WALLETS}`,
);

const percentOf = (part: number, whole: number) => (whole === 0 ? null : Math.round((10_000 * part) / whole) / 100);

/** Reads the statistics of a wallet's links and referrals. */
export async function readStats(app: App, wallet: string): Promise<ReferralStats> {
  const today = dayNumber(app.clock.now());
  const [totals, links, days, topWallets] = await Promise.all([
    readTotals(app.db, wallet),
    app.db.query(selectLinks, [wallet]),
    app.db.query(selectDays, [wallet, today - DAYS]),
    app.db.query(selectTop, [wallet]),
  ]);
  const byDay = new Map(days.map((row) => [row.day, row]));
  const cap = app.config.referralDailyCap;
  const used = byDay.get(today)?.used ?? 0;
  return {
    links: links.map((link) => ({ ...link, url: urlOf(app.config.publicUrl, link.code) })),
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

export const selectReferred = statement<ReferredWallet>(
  'select_referred',
  `select wallet, ${instant('bound_at')} as "boundAt", ${instant('verified_at')} as "verifiedAt", coalesce(${ACTIVE}, false) as active, points::float8 as points
   from referrals where referrer = $1 order by bound_at desc, wallet limit $2 offset $3`,
);
export const countReferred = statement<{ total: number }>('count_referred', 'select count(*)::int as total from referrals where referrer = $1');

/** Reads a page of the wallets that a wallet referred, newest first, and the number of all of them. */
export async function readReferred(
  db: Queryable,
  wallet: string,
  limit: number,
  offset: number,
): Promise<{ referred: ReferredWallet[]; total: number }> {
  const [referred, [count]] = await Promise.all([db.query(selectReferred, [wallet, limit, offset]), db.query(countReferred, [wallet])]);
  return { referred, total: count?.total ?? 0 };
}
