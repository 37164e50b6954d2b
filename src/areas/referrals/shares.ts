import type { LedgerEntry, Mode, OpenDay } from '#areas/points';
import type { Tx } from '#platform/db/transaction.ts';
import { lockWithheldShares, saveWithheldShares, withhold } from './withhold.ts';

/** The referrer's share of a referred wallet's game points, percent. */
export const SHARE_PERCENT = 10;

/** A referred wallet and its referrer. */
export interface ReferredPlayer {
  wallet: string;
  referrer: string;
  /** Whether the referrer is banned. */
  banned: boolean;
  /** Whether the wallet itself is banned. */
  walletBanned: boolean;
  /** Time of the binding, ms since 1970. */
  boundAt: number;
  /** Whether the wallet has an accepted score in a game that verifies scores. */
  verified: boolean;
}

/** The current state of a score in the database, with the points of its ledger rows. */
export interface ReferredScore {
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
  /** Points that the referrer has for the score at present: without a share that was taken back. */
  netPoints: number;
  /** Points of the score at present. They may be fewer than `points` if the score was restored. */
  presentPoints: number;
  /** Reasons of the ledger rows that took the share back or gave it back. */
  reversals: string[];
}

/** Changes to the row of a referred wallet. */
export interface ReferralChange {
  points: number;
  betaPoints: number;
  /** Time of the score that verified the wallet; null when a void ended the verification; undefined for no change. */
  verifiedAt: string | null | undefined;
  lastScoredAt: string | null;
}
/** Amounts to add to the referrer's row of today. `used`: points that count towards the daily cap. */
export interface ReferrerDay {
  used: number;
  points: number;
}

/** Ledger reasons that take a share back and give it back, in the order in which a score gets them. */
const REVERSALS = ['referral-void', 'referral-restore', 'referral-second-void'] as const;

/** Computes the shares of referrers for a batch of scores, in the order of the batch. Runs no query; the caller passes all inputs. */
export class ShareCalculator {
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
    const points = Math.min(Math.floor((Math.min(score.points, score.presentPoints) * SHARE_PERCENT) / 100), left);
    if (points === 0) return;
    day.used += points;
    this.#append(bound, score, 'referral', points);
  }

  /**
   * Takes back the share of a voided score, or gives back the share of a restored score, if this was not done before. Ends the verification of a
   * wallet without another verified score, and verifies it again when such a score is restored.
   * @param at time of the activity, ms since 1970
   * @param isVerified whether the wallet has an accepted score in a game that verifies scores
   */
  reverse(bound: ReferredPlayer, score: ReferredScore, at: number, isVerified: boolean): void {
    if (bound.verified && !isVerified) {
      bound.verified = false;
      this.#gainOf(bound.wallet).verifiedAt = null;
    } else if (!bound.verified && score.accepted && score.verified) {
      bound.verified = true;
      this.#gainOf(bound.wallet).verifiedAt = new Date(at).toISOString();
    }
    if (score.sharePoints === 0) return;
    const reason = REVERSALS[score.reversals.length];
    if (reason === undefined || score.accepted !== (reason === 'referral-restore')) return;
    const restored = bound.banned ? 0 : Math.min(score.sharePoints, Math.floor((score.presentPoints * SHARE_PERCENT) / 100));
    const points = score.accepted ? restored : -score.netPoints;
    if (points === 0) return;
    score.reversals.push(reason);
    score.netPoints += points;
    this.#append(bound, score, reason, points);
  }

  #append(
    bound: ReferredPlayer,
    { id, mode, points: scorePoints, rewards }: ReferredScore,
    reason: 'referral' | (typeof REVERSALS)[number],
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

  /**
   * Withholds the shares of banned wallets, and gives back those of wallets whose ban ended.
   * @returns the ledger entries, and the new state of the shares
   */
  async withhold(tx: Tx, wallets: readonly string[], open: OpenDay): Promise<void> {
    const all = await lockWithheldShares(tx, wallets, open.day);
    for (const shares of all) {
      const gain = this.#gainOf(shares.wallet);
      shares.points += gain.points;
      shares.betaPoints += gain.betaPoints;
      const rewarded = this.entries.filter(({ mode, rewards, factors }) => mode === 'regular' && rewards && factors?.referred === shares.wallet);
      const batch = rewarded.reduce((sum, { points }) => sum + points, 0);
      for (const entry of withhold(shares, batch)) {
        this.entries.push(entry);
        if (entry.mode === 'regular') {
          gain.points += entry.points;
          this.#dayOf(shares.referrer).points += entry.points;
        } else gain.betaPoints += entry.points;
      }
    }
    await saveWithheldShares(tx, all);
  }

  #gainOf(wallet: string): ReferralChange {
    const gain = this.changes.get(wallet) ?? { points: 0, betaPoints: 0, verifiedAt: undefined, lastScoredAt: null };
    this.changes.set(wallet, gain);
    return gain;
  }

  #dayOf(referrer: string): ReferrerDay {
    const day = this.days.get(referrer) ?? { used: 0, points: 0 };
    this.days.set(referrer, day);
    return day;
  }
}
