import type { Consumer, Happened, LedgerEntry, Mode } from '#areas/points';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';

/** What of a referred wallet's game points the referrer gets, percent. */
export const SHARE_PERCENT = 10;

interface Bound {
  wallet: string;
  referrer: string;
  /** Whether the referrer is banned. */
  banned: boolean;
  /** ms since 1970. */
  boundAt: number;
  verified: boolean;
}
const selectBound = statement<Bound>(
  'select_referred_wallets',
  `select r.wallet, r.referrer, p.banned_at is not null as banned, (extract(epoch from r.bound_at) * 1000)::float8 as "boundAt",
     r.verified_at is not null as verified
   from unnest($1::text[]) as k(wallet), lateral (select * from referrals where wallet = k.wallet offset 0) r left join players p on p.wallet = r.referrer`,
);

/** A score as the record has it now, with the ledger rows that it caused. */
interface Score {
  id: string;
  /** Not taken back, as far as is known now. */
  accepted: boolean;
  /** Of a game whose scores are verified. */
  verified: boolean;
  mode: Mode;
  /** What it was awarded, 0 where nothing was left of the wallet's caps. */
  points: number;
  rewards: boolean;
  /** What the referrer got for it, and whether that was taken back. */
  given: number;
  taken: boolean;
}
const selectScores = statement<Score>(
  'select_scores_of_referred',
  // One look into an index per key, also where the plan was made while the tables were small.
  `select k.id, s.status = 'accepted' as accepted, s.mode, coalesce(p.points, 0)::float8 as points, coalesce(p.rewards, false) as rewards,
     coalesce(g.points, 0)::float8 as given,
     exists (select 1 from ledger l
       where l.source_id = k.id and l.source = 'score' and l.wallet = k.referrer and l.reason = 'referral-void' and l.mode = s.mode) as taken,
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
const addDays = statement(
  'add_referral_days',
  `insert into referral_days as d (referrer, day, used, points)
   select referrer, $1::int, used, points from unnest($2::text[], $3::int[], $4::int8[]) as g(referrer, used, points)
   on conflict (referrer, day) do update set used = d.used + excluded.used, points = d.points + excluded.points`,
);

/** What changes for a referred wallet. */
interface Gain {
  points: number;
  betaPoints: number;
  verifiedAt: string | null;
  lastScoredAt: string | null;
}
/** What changes for a referrer today. */
interface Day {
  used: number;
  points: number;
}

/** Follows the scores of referred wallets in their order. Everything that it decides by was read before. */
class Shares {
  readonly entries: LedgerEntry[] = [];
  readonly gains = new Map<string, Gain>();
  readonly days = new Map<string, Day>();
  readonly #cap: number;
  readonly #used: ReadonlyMap<string, number>;

  constructor(cap: number, used: ReadonlyMap<string, number>) {
    this.#cap = cap;
    this.#used = used;
  }

  /** A score was accepted. One that has been taken back meanwhile is as if it had never been. */
  give(bound: Bound, score: Score, at: number): void {
    if (!score.accepted) return;
    const gain = this.#gainOf(bound.wallet);
    gain.lastScoredAt = new Date(at).toISOString();
    if (!bound.verified && score.verified) {
      bound.verified = true;
      gain.verifiedAt = gain.lastScoredAt;
    }
    if (!bound.verified || bound.banned || score.given > 0) return;
    const day = this.#dayOf(bound.referrer);
    const left = Math.max(this.#cap - (this.#used.get(bound.referrer) ?? 0) - day.used, 0);
    const points = Math.min(Math.floor((score.points * SHARE_PERCENT) / 100), left);
    if (points === 0) return;
    day.used += points;
    this.#append(bound, score, 'referral', points);
  }

  /** A score was taken back. */
  takeBack(bound: Bound, score: Score): void {
    if (score.given > 0 && !score.taken) this.#append(bound, score, 'referral-void', -score.given);
  }

  #append(bound: Bound, { id, mode, points: scorePoints, rewards }: Score, reason: string, points: number): void {
    const gain = this.#gainOf(bound.wallet);
    if (mode === 'regular') {
      gain.points += points;
      this.#dayOf(bound.referrer).points += points;
    } else gain.betaPoints += points;
    const factors = { referred: bound.wallet, scorePoints, percent: SHARE_PERCENT };
    this.entries.push({ wallet: bound.referrer, mode, kind: 'referral', reason, source: 'score', sourceId: id, points, rewards, factors });
  }

  #gainOf(wallet: string): Gain {
    const gain = this.gains.get(wallet) ?? { points: 0, betaPoints: 0, verifiedAt: null, lastScoredAt: null };
    this.gains.set(wallet, gain);
    return gain;
  }

  #dayOf(referrer: string): Day {
    const day = this.days.get(referrer) ?? { used: 0, points: 0 };
    this.days.set(referrer, day);
    return day;
  }
}

/**
 * Gives referrers their share of what the wallets that they referred are awarded for scores: floor(10 %) of each single score, from the
 * wallet's first score in a verified game on, that one included, within the referrer's cap of the UTC day on which it is given. Scores that were
 * accepted before the binding count for nothing, except that they may have verified the wallet. A void takes back exactly what its score
 * gave, and gives nothing of the day's cap back; where it is known before its score was consumed, the score gives nothing.
 */
export const referralConsumer: Consumer = {
  name: 'referrals',
  bit: 1,
  async consume(app, tx, open, activities) {
    const scored = activities.filter(({ kind }) => kind === 'score' || kind === 'void');
    if (scored.length === 0) return [];
    const bindings = await tx.query(selectBound, [[...new Set(scored.map(({ wallet }) => wallet))]]);
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
    const shares = new Shares(app.config.referralDailyCap, new Map(used.map((row) => [row.referrer, row.used])));
    for (const { activity, bound } of counting) {
      const score = scores.get(activity.sourceId);
      if (!score) continue;
      if (activity.kind === 'score') shares.give(bound, score, activity.at);
      else shares.takeBack(bound, score);
    }
    await Promise.all([writeGains(tx, shares.gains), writeDays(tx, open.day, shares.days)]);
    return shares.entries;
  },
};

async function readScores(tx: Tx, counting: readonly { activity: Happened; bound: Bound }[]): Promise<Map<string, Score>> {
  const byId = new Map(counting.map(({ activity, bound }) => [activity.sourceId, bound]));
  const bounds = [...byId.values()];
  const rows = await tx.query(selectScores, [[...byId.keys()], bounds.map(({ wallet }) => wallet), bounds.map(({ referrer }) => referrer)]);
  return new Map(rows.map((row) => [row.id, row]));
}

async function writeGains(tx: Tx, gains: ReadonlyMap<string, Gain>): Promise<void> {
  if (gains.size === 0) return;
  const all = [...gains.values()];
  await tx.query(updateReferrals, [
    [...gains.keys()],
    all.map(({ points }) => points),
    all.map(({ betaPoints }) => betaPoints),
    all.map(({ verifiedAt }) => verifiedAt),
    all.map(({ lastScoredAt }) => lastScoredAt),
  ]);
}

async function writeDays(tx: Tx, day: number, days: ReadonlyMap<string, Day>): Promise<void> {
  const changed = [...days].filter(([, { used, points }]) => used !== 0 || points !== 0);
  if (changed.length === 0) return;
  await tx.query(addDays, [day, changed.map(([referrer]) => referrer), changed.map(([, { used }]) => used), changed.map(([, { points }]) => points)]);
}
