import type { Happened } from '../points/points.ts';
import { type Condition, conditionsOf } from './definition.ts';
import { type Facts, holds, isCounted, progressOf } from './progress.ts';
import type { Quest } from './rows.ts';

/** Beyond this, everything is read anew. */
const MOST = 300_000;

const NEVER: number[] = [];

const needOf = (condition: Condition): number => {
  if ('count' in condition) return condition.count;
  if (condition.type === 'bestScore') return condition.atLeast;
  return condition.type === 'follow' ? 1 : Number.POSITIVE_INFINITY;
};

/**
 * How far wallets may be with quests, per condition: never less than they are. It spares reading what cannot complete a quest, and decides
 * nothing else: what it takes for met is read. Batches that were rolled back are counted twice here, voids not at all; what others
 * consumed meanwhile is not in it, so then it begins anew, as with games that have begun to count.
 */
export class Estimates {
  readonly #progress = new Map<string, number[]>();
  #turn = 0;
  #games = '';

  /** Before each batch. @param turn one more than at the last batch, where that was this process’s own */
  begin(turn: number, unrewarded: ReadonlySet<string>): void {
    const games = [...unrewarded].join();
    if (turn !== this.#turn + 1 || games !== this.#games || this.#progress.size > MOST) this.#progress.clear();
    this.#turn = turn;
    this.#games = games;
  }

  /** Takes what a wallet did into account. @returns whether the quest may be met by it */
  add(key: string, { definition: { requirement } }: Quest, activities: readonly Happened[]): boolean {
    const known = this.#progress.get(key);
    if (!known || known === NEVER) return !known;
    const conditions = conditionsOf(requirement);
    for (const { kind, gameId, amount } of activities) {
      for (const [i, condition] of conditions.entries()) {
        if (!isCounted(condition, kind, gameId ?? '')) continue;
        const have = known[i] ?? 0;
        // Amounts may be too large for numbers, and streaks begin and end by themselves.
        if (condition.type === 'burned' || condition.type === 'streak') known[i] = Number.POSITIVE_INFINITY;
        else known[i] = condition.type === 'bestScore' ? Math.max(have, Number(amount)) : have + 1;
      }
    }
    return holds(requirement, (condition) => (known[conditions.indexOf(condition)] ?? 0) >= needOf(condition));
  }

  /** What was read. */
  set(key: string, { definition: { requirement } }: Quest, facts: Facts): void {
    const progress = conditionsOf(requirement).map((condition) => {
      const { have, need } = progressOf(condition, facts);
      return have >= need ? Number.POSITIVE_INFINITY : typeof have === 'bigint' ? 0 : have;
    });
    this.#progress.set(key, progress);
  }

  /** It may have been completed by now. */
  forget(key: string): void {
    this.#progress.delete(key);
  }

  /** It is completed, and that is committed: it will not be met again. */
  close(key: string): void {
    this.#progress.set(key, NEVER);
  }
}
