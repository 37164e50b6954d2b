import type { ActivityEvent, Mode } from '#areas/points';
import { type Condition, conditionsOf } from './definition.ts';
import { isCounted, isSatisfied, progressOf, type QuestFacts } from './progress.ts';
import type { Quest } from './rows.ts';

/** Maximum estimates per process. A process has at most one estimate per wallet and window of a quest. Above the maximum, all estimates are cleared. */
const MAX_ESTIMATES = 300_000;

/**
 * The estimates of one wallet, by window: the progress per condition; then the UTC day number of its streak, NaN when the wallet may extend the streak with
 * each activity. They are stored by wallet, because a search for the wallet in each window took a tenth of a worker's time.
 */
export type WalletEstimates = Map<WindowEstimator, number[]>;

/** Markers that replace the estimate of a wallet that has completed the quest in the window, by the mode in which the wallet completed the quest. */
const COMPLETED: Readonly<Record<Mode, number[]>> = { regular: [], beta: [] };

const requiredOf = (condition: Condition): number => {
  if ('count' in condition) return condition.count;
  return condition.type === 'bestScore' ? condition.atLeast : Number.POSITIVE_INFINITY;
};

/** One window of a quest. Its estimates are upper bounds of the progress of wallets. */
export class WindowEstimator {
  readonly #quest: Quest;
  readonly #conditions: readonly Condition[];

  constructor(quest: Quest) {
    this.#quest = quest;
    this.#conditions = conditionsOf(quest.definition.requirement);
  }

  /**
   * Adds activities to the estimate of a wallet.
   * @param mode the present mode of the wallet
   * @returns whether the requirement may be met; if so, the caller must read the exact progress
   */
  add(wallet: WalletEstimates, mode: Mode, activities: readonly ActivityEvent[]): boolean {
    const known = wallet.get(this);
    if (known === COMPLETED[mode]) return false;
    if (!known || known === COMPLETED.regular || known === COMPLETED.beta) return true;
    const streakDay = known[this.#conditions.length];
    for (const { kind, gameId, amount, day } of activities) {
      for (const [i, condition] of this.#conditions.entries()) {
        if (!isCounted(condition, kind, gameId ?? '')) continue;
        const have = known[i] ?? 0;
        // A condition that counts as reached (Infinity) makes the caller read the exact progress. Token amounts may exceed the range of a number. More
        // activities of the same day do not extend a streak.
        if (condition.type === 'burned') known[i] = Number.POSITIVE_INFINITY;
        else if (condition.type === 'streak') known[i] = day === streakDay ? have : Number.POSITIVE_INFINITY;
        else known[i] = condition.type === 'bestScore' ? Math.max(have, Number(amount)) : have + 1;
      }
    }
    return isSatisfied(this.#quest.definition.requirement, (condition) => (known[this.#conditions.indexOf(condition)] ?? 0) >= requiredOf(condition));
  }

  /**
   * Sets the estimate of a wallet from the exact progress of this wallet.
   * @param activeDay UTC day number for which the progress was read, if the wallet was active on this day, so that the streak includes the day; else null
   */
  setFacts(wallet: WalletEstimates, facts: QuestFacts, activeDay: number | null): void {
    const progress = this.#conditions.map((condition) => {
      const { have, need } = progressOf(condition, facts);
      // A follow is a state of the account, which may change without an activity. So the caller reads it each time the other conditions may be met.
      if (have >= need || condition.type === 'follow') return Number.POSITIVE_INFINITY;
      return typeof have === 'bigint' ? 0 : have;
    });
    wallet.set(this, [...progress, activeDay ?? Number.NaN]);
  }

  /** Removes the estimate of a wallet, so that the exact progress is read next time. */
  delete(wallet: WalletEstimates): void {
    wallet.delete(this);
  }

  /** Marks the quest as completed by the wallet in a mode. Precondition: the completion is committed. */
  markCompleted(wallet: WalletEstimates, mode: Mode): void {
    wallet.set(this, COMPLETED[mode]);
  }
}

/**
 * Estimates the progress of wallets in quests, so that the exact progress is read only for wallets that may have completed a quest. An estimate may
 * be higher than the exact progress but never lower: activities of a batch that was rolled back are added twice, and voided scores are not
 * subtracted.
 */
export class ProgressEstimates {
  readonly #windows = new Map<string, WindowEstimator>();
  readonly #wallets = new Map<string, WalletEstimates>();
  #batchNumber = 0;
  #games = '';
  /** Latest UTC day number of an activity of the batches so far. */
  #latestDay = Number.NEGATIVE_INFINITY;

  /**
   * Prepares the estimates for a batch of activities. Must be called before each batch. Clears all estimates if another process consumed a batch
   * since the last call, if the set of unrewarded games changed, or if there are too many estimates.
   * @param batchNumber value for this batch from the sequence that all processes share; a gap means that another process consumed a batch
   */
  beginBatch(batchNumber: number, unrewarded: ReadonlySet<string>): void {
    const games = [...unrewarded].join();
    const size = this.#windows.size * this.#wallets.size;
    if (batchNumber !== this.#batchNumber + 1 || games !== this.#games || size > MAX_ESTIMATES) {
      this.#windows.clear();
      this.#wallets.clear();
    }
    this.#batchNumber = batchNumber;
    this.#games = games;
  }

  /**
   * Removes the estimates of wallets with late activities. An activity is late if its day is earlier than the latest day of all activities so far. It may join
   * two streaks, and it may extend the streak of a window that begins after this day.
   */
  forgetLate(activities: readonly ActivityEvent[]): void {
    this.#latestDay = activities.reduce((latest, { day }) => Math.max(latest, day), this.#latestDay);
    this.forget(activities.filter(({ day }) => day < this.#latestDay).map(({ wallet }) => wallet));
  }

  /** Removes the estimates of wallets in all quests, because their progress increased in a way that the estimates do not count. */
  forget(wallets: readonly string[]): void {
    for (const wallet of wallets) this.#wallets.delete(wallet);
  }

  /** Returns the estimates of a wallet. The caller may change them until the next batch. */
  ofWallet(wallet: string): WalletEstimates {
    const known = this.#wallets.get(wallet) ?? new Map<WindowEstimator, number[]>();
    this.#wallets.set(wallet, known);
    return known;
  }

  /** Returns a window of the current version of a quest. */
  windowOf(quest: Quest, windowKey: string): WindowEstimator {
    const key = `${quest.id} ${quest.version} ${windowKey}`;
    const known = this.#windows.get(key) ?? new WindowEstimator(quest);
    this.#windows.set(key, known);
    return known;
  }
}
