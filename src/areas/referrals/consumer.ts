import { type ActivityEvent, type Consumer, isBan, isVoiding } from '#areas/points';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { referralEarned } from './events.ts';
import { type ReferralChange, type ReferredPlayer, type ReferredScore, type ReferrerDay, ShareCalculator } from './shares.ts';
import { hasVerifiedScore } from './verification.ts';

const selectReferredPlayers = statement<ReferredPlayer>(
  'select_referred_wallets',
  `select r.wallet, r.referrer, p.banned_at is not null as banned, w.banned_at is not null as "walletBanned", (extract(epoch from r.bound_at) * 1000)::float8 as "boundAt",
     r.verified_at is not null as verified
   from unnest($1::text[]) as k(wallet), lateral (select * from referrals where wallet = k.wallet offset 0) r left join players p on p.wallet = r.referrer
     left join players w on w.wallet = r.wallet`,
);

const selectScores = statement<ReferredScore>(
  'select_scores_of_referred',
  // `offset 0` forces one index lookup per key, even in a plan that PostgreSQL cached while the tables were small.
  `select k.id, s.status = 'accepted' as accepted, s.mode, coalesce(p.points, 0)::float8 as points, coalesce(p.rewards, false) as rewards,
     coalesce(g.points, 0)::float8 as "sharePoints", coalesce(g.points + b.points, g.points, 0)::float8 as "netPoints",
     coalesce(b.reasons, '{}') as reversals, s.points::float8 as "presentPoints",
     coalesce((select v.definition ->> 'verification' <> 'none' from game_versions v where v.game_id = s.game_id and v.version = s.game_version), false) as verified
   from unnest($1::text[], $2::text[], $3::text[]) as k(id, wallet, referrer)
   cross join lateral (select status, mode, points, game_id, game_version from scores where id = k.id::uuid offset 0) s
   left join lateral (select points, rewards from ledger l
     where l.source_id = k.id and l.source = 'score' and l.cause_day = cause_day('score', k.id) and l.wallet = k.wallet and l.reason = 'score' and l.mode = s.mode offset 0) p on true
   left join lateral (select points from ledger l
     where l.source_id = k.id and l.source = 'score' and l.cause_day = cause_day('score', k.id) and l.wallet = k.referrer and l.reason = 'referral' and l.mode = s.mode offset 0) g on true
   left join lateral (select sum(points) as points, array_agg(reason) as reasons from ledger l
     where l.source_id = k.id and l.source = 'score' and l.cause_day = cause_day('score', k.id) and l.wallet = k.referrer and l.mode = s.mode
       and l.reason in ('referral-void', 'referral-restore', 'referral-second-void') offset 0) b on true`,
);
const selectVerified = statement<{ wallet: string }>(
  'select_verified_wallets',
  `select k.wallet from unnest($1::text[]) as k(wallet) where ${hasVerifiedScore('k.wallet')}`,
);
const selectUsed = statement<{ referrer: string; used: number }>(
  'select_used_referral_caps',
  'select referrer, used from referral_days where referrer = any($1::text[]) and day = $2',
);

const updateReferrals = statement(
  'update_referrals',
  `update referrals r set points = r.points + g.points, beta_points = r.beta_points + g.beta_points,
     verified_at = case when g.verification_changed then g.verified_at else r.verified_at end, last_scored_at = greatest(r.last_scored_at, g.last_scored_at)
   from unnest($1::text[], $2::int8[], $3::int8[], $4::bool[], $5::timestamptz[], $6::timestamptz[])
     as g(wallet, points, beta_points, verification_changed, verified_at, last_scored_at)
   where r.wallet = g.wallet`,
);
const addReferrerDays = statement(
  'add_referral_days',
  `insert into referral_days as d (referrer, day, used, points)
   select referrer, $1::int, used, points from unnest($2::text[], $3::int[], $4::int8[]) as g(referrer, used, points)
   on conflict (referrer, day) do update set used = d.used + excluded.used, points = d.points + excluded.points`,
);

/**
 * Gives each referrer a share of the points of its referred wallets: 10 % of the points of each score, rounded down, up to the referrer's cap per UTC
 * day.
 * - Shares begin with the wallet's first accepted score in a game that verifies scores; this score gives a share too.
 * - A score from before the binding gives no share, but it may be this first score.
 * - A wallet whose verified scores are all voided is no longer verified. The shares of its other scores stay given.
 * - A void takes back the share of its score, but the used part of the daily cap stays used. A restored score gives its share back.
 * - A score that is voided before this consumer receives it gives no share, also after it is restored.
 * - While a wallet is banned, all its shares are withheld from its referrer. The end of the ban gives them back.
 */
export const referralConsumer: Consumer = {
  name: 'referrals',
  bit: 1,
  async consume(app, tx, open, activities) {
    const scored = activities.filter(({ kind }) => kind === 'score' || isVoiding(kind) || isBan(kind));
    if (scored.length === 0) return [];
    const bindings = await tx.query(selectReferredPlayers, [[...new Set(scored.map(({ wallet }) => wallet))]]);
    const byWallet = new Map(bindings.map((bound) => [bound.wallet, bound]));
    const counting = scored.flatMap((activity) => {
      const bound = byWallet.get(activity.wallet);
      return bound && activity.at > bound.boundAt && !isBan(activity.kind) ? [{ activity, bound }] : [];
    });
    const decided = scored.flatMap(({ kind, wallet }) =>
      byWallet.has(wallet) && (isBan(kind) || byWallet.get(wallet)?.walletBanned) ? [wallet] : [],
    );
    if (counting.length === 0 && decided.length === 0) return [];
    const voided = new Set(counting.flatMap(({ activity }) => (isVoiding(activity.kind) ? [activity.wallet] : [])));
    const [scores, verified, used] = await Promise.all([
      readScores(tx, counting),
      readVerified(tx, voided),
      tx.query(selectUsed, [[...new Set(counting.map(({ bound }) => bound.referrer))], open.day]),
    ]);
    const shares = new ShareCalculator(app.config.referralDailyCap, new Map(used.map((row) => [row.referrer, row.used])));
    for (const { activity, bound } of counting) {
      const score = scores.get(activity.sourceId);
      if (!score) continue;
      if (activity.kind === 'score') shares.addScore(bound, score, activity.at);
      else shares.reverse(bound, score, activity.at, verified.has(bound.wallet));
    }
    if (decided.length > 0) await shares.withhold(tx, [...new Set(decided)], open);
    await Promise.all([updateReferredWallets(tx, shares.changes), writeDays(tx, open.day, shares.days)]);
    emitEarnings(tx, byWallet, shares.changes);
    return shares.entries;
  },
};

/** Emits one event per referrer whose points change. */
function emitEarnings(tx: Tx, byWallet: ReadonlyMap<string, ReferredPlayer>, changes: ReadonlyMap<string, ReferralChange>): void {
  const shares = [...changes].flatMap(([wallet, { points, betaPoints }]) => {
    const referrer = byWallet.get(wallet)?.referrer;
    return referrer === undefined || (points === 0 && betaPoints === 0) ? [] : [{ referrer, wallet, points, betaPoints }];
  });
  const byReferrer = Map.groupBy(shares, ({ referrer }) => referrer);
  const payloads = [...byReferrer.values()].map((all) => ({
    points: all.reduce((sum, { points }) => sum + points, 0),
    betaPoints: all.reduce((sum, { betaPoints }) => sum + betaPoints, 0),
    wallets: all.map(({ wallet, points, betaPoints }) => ({ wallet, points, betaPoints })),
  }));
  tx.emitAll(referralEarned, payloads, [...byReferrer.keys()]);
}

async function readScores(tx: Tx, counting: readonly { activity: ActivityEvent; bound: ReferredPlayer }[]): Promise<Map<string, ReferredScore>> {
  const byId = new Map(counting.map(({ activity, bound }) => [activity.sourceId, bound]));
  const bounds = [...byId.values()];
  const rows = await tx.query(selectScores, [[...byId.keys()], bounds.map(({ wallet }) => wallet), bounds.map(({ referrer }) => referrer)]);
  return new Map(rows.map((row) => [row.id, row]));
}

/** Returns the wallets that have an accepted score in a game that verifies scores. */
async function readVerified(tx: Tx, wallets: ReadonlySet<string>): Promise<Set<string>> {
  if (wallets.size === 0) return new Set();
  return new Set((await tx.query(selectVerified, [[...wallets]])).map(({ wallet }) => wallet));
}

async function updateReferredWallets(tx: Tx, changes: ReadonlyMap<string, ReferralChange>): Promise<void> {
  if (changes.size === 0) return;
  const all = [...changes.values()];
  await tx.query(updateReferrals, [
    [...changes.keys()],
    all.map(({ points }) => points),
    all.map(({ betaPoints }) => betaPoints),
    all.map(({ verifiedAt }) => verifiedAt !== undefined),
    all.map(({ verifiedAt }) => verifiedAt ?? null),
    all.map(({ lastScoredAt }) => lastScoredAt),
  ]);
}

async function writeDays(tx: Tx, day: number, days: ReadonlyMap<string, ReferrerDay>): Promise<void> {
  const changed = [...days].filter(([, { used, points }]) => used !== 0 || points !== 0);
  if (changed.length === 0) return;
  await tx.query(addReferrerDays, [
    day,
    changed.map(([referrer]) => referrer),
    changed.map(([, { used }]) => used),
    changed.map(([, { points }]) => points),
  ]);
}
