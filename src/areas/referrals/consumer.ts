import type { ActivityEvent, Consumer, LedgerEntry, Mode } from '#areas/points';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';

/** The referrer's share of a referred wallet's game points, percent. */
export const SHARE_PERCENT = 10;

/** A referred wallet and its referrer. */
interface ReferredPlayer {
  wallet: string;
  referrer: string;
  /** Whether the referrer is banned. */
  banned: boolean;
  /** Time of the binding, ms since 1970. */
  boundAt: number;
  /** Whether the wallet has an accepted score in a game that verifies scores. */
  verified: boolean;
}
const selectReferredPlayers = statement<ReferredPlayer>(
  'select_referred_wallets',
  `select r.wallet, r.referrer, p.banned_at is not null as banned, (extract(epoch from r.bound_at) * 1000)::float8 as "boundAt",
     r.verified_at is not null as verified
   from unnest($1::text[]) as k(wallet), lateral (select * from referrals where wallet = k.wallet offset 0) r left join players p on p.wallet = r.referrer`,
);

/** The current state of a score in the database, with the points of its ledger rows. */
interface ReferredScore {
  id: string;
  /** Whether the score is accepted; false after a void. */
  accepted: boolean;
  /** Whether the game of the score verifies scores. */
  verified: boolean;
  mode: Mode;
  /** Points of the score; 0 when the wallet had reached its daily caps. */
  points: number;
  rewards: boolean;
  /** Points that the referrer got for the score. */
  sharePoints: number;
  /** Whether the points of the referrer were taken back after the score was voided. */
  isReversed: boolean;
}
const selectScores = statement<ReferredScore>(
  'select_scores_of_referred',
  // `offset 0` forces one index lookup per key, even in a plan that PostgreSQL cached while the tables were small.
  `select k.id, s.status = 'accepted' as accepted, s.mode, coalesce(p.points, 0)::float8 as points, coalesce(p.rewards, false) as rewards,
     coalesce(g.points, 0)::float8 as "sharePoints",
     exists (select 1 from ledger l
       where l.source_id = k.id and l.source = 'score' and l.wallet = k.referrer and l.reason = 'referral-void' and l.mode = s.mode) as "isReversed",
     coalesce((select v.definition ->> 'verification' <> 'none' from game_versions v where v.game_id = s.game_id and v.version = s.game_version), false) as verified
   from unnest($1::text[], $2::text[], $3::text[]) as k(id, wallet, referrer)
   cross join lateral (select status, mode, game_id, game_version from scores where id = k.id::uuid offset 0) s
   left join lateral (select points, rewards from ledger l
     where l.source_id = k.id and l.source = 'score' and l.wallet = k.wallet and l.reason = 'score' and l.mode = s.mode offset 0) p on true
   left join lateral (select points from ledger l
     where l.source_id = k.id and l.source = 'score' and l.wallet = k.referrer and l.reason = 'referral' and l.mode = s.mode offset 0) g on true`,
);
const selectUsed = statement<{ referrer: string; used: number }>(
  'select_used_referral_caps',
  'select referrer, used from referral_days where referrer = any($1::text[]) and day = $2',
);

const updateReferrals = statement(
  'update_referrals',
  `update referrals r set points = r.points + g.points, beta_points = r.beta_points + g.beta_points,
     verified_at = coalesce(r.verified_at, g.verified_at), last_scored_at = greatest(r.last_scored_at, g.last_scored_at)
   from unnest($1::text[], $2::int8[], $3::int8[], $4::timestamptz[], $5::timestamptz[]) as g(wallet, points, beta_points, verified_at, last_scored_at)
   where r.wallet = g.wallet`,
);
const addReferrerDays = statement(
  'add_referral_days',
  `insert into referral_days as d (referrer, day, used, points)
   select referrer, $1::int, used, points from unnest($2::text[], $3::int[], $4::int8[]) as g(referrer, used, points)
   on conflict (referrer, day) do update set used = d.used + excluded.used, points = d.points + excluded.points`,
);

/** Changes to the row of a referred wallet. */
interface ReferralChange {
  points: number;
  betaPoints: number;
  verifiedAt: string | null;
  lastScoredAt: string | null;
}
/** Amounts to add to the referrer's row of today. `used`: points that count towards the daily cap. */
interface ReferrerDay {
  used: number;
  points: number;
}

/** Computes the shares of referrers for a batch of scores, in the order of the batch. Runs no query; the caller passes all inputs. */
class ShareCalculator {
  readonly entries: LedgerEntry[] = [];
  readonly changes = new Map<string, ReferralChange>();
  readonly days = new Map<string, ReferrerDay>();
  readonly #cap: number;
  readonly #used: ReadonlyMap<string, number>;

  constructor(cap: number, used: ReadonlyMap<string, number>) {
    this.#cap = cap;
    this.#used = used;
  }

  /** Adds the share of an accepted score. Ignores a score that was voided after its activity was appended. */
  addScore(bound: ReferredPlayer, score: ReferredScore, at: number): void {
    if (!score.accepted) return;
    const gain = this.#gainOf(bound.wallet);
    gain.lastScoredAt = new Date(at).toISOString();
    if (!bound.verified && score.verified) {
      bound.verified = true;
      gain.verifiedAt = gain.lastScoredAt;
    }
    if (!bound.verified || bound.banned || score.sharePoints > 0) return;
    const day = this.#dayOf(bound.referrer);
    const left = Math.max(this.#cap - (this.#used.get(bound.referrer) ?? 0) - day.used, 0);
    const points = Math.min(Math.floor((score.points * SHARE_PERCENT) / 100), left);
    if (points === 0) return;
    day.used += points;
    this.#append(bound, score, 'referral', points);
  }

  /** Takes back the share of a voided score, if it was not taken back before. */
  voidScore(bound: ReferredPlayer, score: ReferredScore): void {
    if (score.sharePoints > 0 && !score.isReversed) this.#append(bound, score, 'referral-void', -score.sharePoints);
  }

  #append(
    bound: ReferredPlayer,
    { id, mode, points: scorePoints, rewards }: ReferredScore,
    reason: 'referral' | 'referral-void',
    points: number,
  ): void {
    const gain = this.#gainOf(bound.wallet);
    if (mode === 'regular') {
      gain.points += points;
      this.#dayOf(bound.referrer).points += points;
    } else gain.betaPoints += points;
    const factors = { referred: bound.wallet, scorePoints, percent: SHARE_PERCENT };
    this.entries.push({ wallet: bound.referrer, mode, kind: 'referral', reason, source: 'score', sourceId: id, points, rewards, factors });
  }

  #gainOf(wallet: string): ReferralChange {
    const gain = this.changes.get(wallet) ?? { points: 0, betaPoints: 0, verifiedAt: null, lastScoredAt: null };
    this.changes.set(wallet, gain);
    return gain;
  }

  #dayOf(referrer: string): ReferrerDay {
    const day = this.days.get(referrer) ?? { used: 0, points: 0 };
    this.days.set(referrer, day);
    return day;
  }
}

/**
 * Gives each referrer a share of the points of its referred wallets: 10 % of the points of each score, rounded down, up to the referrer's cap per UTC
 * day.
 * - Shares begin with the wallet's first accepted score in a game that verifies scores; this score gives a share too.
 * - A score from before the binding gives no share, but it may be this first score.
 * - A void takes back the share of its score, but the used part of the daily cap stays used.
 * - A score that is voided before this consumer receives it gives no share.
 */
export const referralConsumer: Consumer = {
  name: 'referrals',
  bit: 1,
  async consume(app, tx, open, activities) {
    const scored = activities.filter(({ kind }) => kind === 'score' || kind === 'void');
    if (scored.length === 0) return [];
    const bindings = await tx.query(selectReferredPlayers, [[...new Set(scored.map(({ wallet }) => wallet))]]);
    const byWallet = new Map(bindings.map((bound) => [bound.wallet, bound]));
    const counting = scored.flatMap((activity) => {
      const bound = byWallet.get(activity.wallet);
      return bound && activity.at > bound.boundAt ? [{ activity, bound }] : [];
    });
    if (counting.length === 0) return [];
    const [scores, used] = await Promise.all([
      readScores(tx, counting),
      tx.query(selectUsed, [[...new Set(counting.map(({ bound }) => bound.referrer))], open.day]),
    ]);
    const shares = new ShareCalculator(app.config.referralDailyCap, new Map(used.map((row) => [row.referrer, row.used])));
    for (const { activity, bound } of counting) {
      const score = scores.get(activity.sourceId);
      if (!score) continue;
      if (activity.kind === 'score') shares.addScore(bound, score, activity.at);
      else shares.voidScore(bound, score);
    }
    await Promise.all([updateReferredWallets(tx, shares.changes), writeDays(tx, open.day, shares.days)]);
    return shares.entries;
  },
};

async function readScores(tx: Tx, counting: readonly { activity: ActivityEvent; bound: ReferredPlayer }[]): Promise<Map<string, ReferredScore>> {
  const byId = new Map(counting.map(({ activity, bound }) => [activity.sourceId, bound]));
  const bounds = [...byId.values()];
  const rows = await tx.query(selectScores, [[...byId.keys()], bounds.map(({ wallet }) => wallet), bounds.map(({ referrer }) => referrer)]);
  return new Map(rows.map((row) => [row.id, row]));
}

async function updateReferredWallets(tx: Tx, changes: ReadonlyMap<string, ReferralChange>): Promise<void> {
  if (changes.size === 0) return;
  const all = [...changes.values()];
  await tx.query(updateReferrals, [
    [...changes.keys()],
    all.map(({ points }) => points),
    all.map(({ betaPoints }) => betaPoints),
    all.map(({ verifiedAt }) => verifiedAt),
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
