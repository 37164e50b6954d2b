import type { Happened } from '#areas/points';
import { type Condition, conditionsOf } from './definition.ts';
import { type Facts, holds, isCounted, progressOf } from './progress.ts';
import type { Quest } from './rows.ts';

/** Beyond so many wallets and windows, everything is read anew. */
const MOST = 300_000;

const NEVER: number[] = [];

const needOf = (condition: Condition): number => {
  if ('count' in condition) return condition.count;
  if (condition.type === 'bestScore') return condition.atLeast;
  return condition.type === 'follow' ? 1 : Number.POSITIVE_INFINITY;
};

/** How far wallets may be in one window of a quest, per condition. */
export class WindowEstimates {
  readonly #quest: Quest;
  readonly #conditions: readonly Condition[];
  readonly #progress = new Map<string, number[]>();

  constructor(quest: Quest) {
    this.#quest = quest;
    this.#conditions = conditionsOf(quest.definition.requirement);
  }

  get size(): number {
    return this.#progress.size;
  }

  /** Takes what a wallet did into account. @returns whether the quest may be met by it */
  add(wallet: string, activities: readonly Happened[]): boolean {
    const known = this.#progress.get(wallet);
    if (!known || known === NEVER) return !known;
    for (const { kind, gameId, amount } of activities) {
      for (const [i, condition] of this.#conditions.entries()) {
        if (!isCounted(condition, kind, gameId ?? '')) continue;
        const have = known[i] ?? 0;
        // Amounts may be too large for numbers, and streaks begin and end by themselves.
        if (condition.type === 'burned' || condition.type === 'streak') known[i] = Number.POSITIVE_INFINITY;
        else known[i] = condition.type === 'bestScore' ? Math.max(have, Number(amount)) : have + 1;
      }
    }
    return holds(this.#quest.definition.requirement, (condition) => (known[this.#conditions.indexOf(condition)] ?? 0) >= needOf(condition));
  }

  /** What was read of a wallet. */
  set(wallet: string, facts: Facts): void {
    const progress = this.#conditions.map((condition) => {
      const { have, need } = progressOf(condition, facts);
      return have >= need ? Number.POSITIVE_INFINITY : typeof have === 'bigint' ? 0 : have;
    });
    this.#progress.set(wallet, progress);
  }

  /** It may have been completed by now. */
  forget(wallet: string): void {
    this.#progress.delete(wallet);
  }

  /** It is completed, and that is committed: it will not be met again. */
  close(wallet: string): void {
    this.#progress.set(wallet, NEVER);
  }
}

/**
 * How far wallets may be with quests: never less than they are. It spares reading what cannot complete a quest, and decides
 * nothing else: what it takes for met is read. Batches that were rolled back are counted twice here, voids not at all; what others
 * consumed meanwhile is not in it, so then it begins anew, as with games that have begun to count.
 */
export class Estimates {
  readonly #windows = new Map<string, WindowEstimates>();
  #turn = 0;
  #games = '';

  /** Before each batch. @param turn one more than at the last batch, where that was this process’s own */
  begin(turn: number, unrewarded: ReadonlySet<string>): void {
    const games = [...unrewarded].join();
    const size = this.#windows.values().reduce((sum, window) => sum + window.size, 0);
    if (turn !== this.#turn + 1 || games !== this.#games || size > MOST) this.#windows.clear();
    this.#turn = turn;
    this.#games = games;
  }

  /** Those of a quest, as it is now, in a window. */
  of(quest: Quest, windowKey: string): WindowEstimates {
    const key = `${quest.id} ${quest.version} ${windowKey}`;
    const known = this.#windows.get(key) ?? new WindowEstimates(quest);
    this.#windows.set(key, known);
    return known;
  }
}
