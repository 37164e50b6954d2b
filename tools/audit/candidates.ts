import { setTimeout as sleep } from 'node:timers/promises';
import { type AuditContext, DifferenceList, type Differences } from './check.ts';

/** Maximum candidates that are compared again. */
const MAX_RECHECKED = 1_000;

/** Keys that differed in a first comparison. They are compared again, because one of the two systems may have been behind. */
export class Candidates<Key> {
  #total = 0;
  #keys: Key[] = [];

  add(key: Key): void {
    this.#total += 1;
    if (this.#keys.length < MAX_RECHECKED) this.#keys.push(key);
  }

  /**
   * Compares the candidates again until none differs or the attempts are used up.
   * @param compare returns the keys that still differ, with one sentence each
   */
  async confirm({ recheck }: Pick<AuditContext, 'recheck'>, compare: (keys: readonly Key[]) => Promise<Map<Key, string>>): Promise<Differences> {
    let different = new Map<Key, string>();
    const beyond = this.#total - this.#keys.length;
    for (let i = 0; i < recheck.attempts && this.#keys.length > 0; i++) {
      if (i > 0) await sleep(recheck.intervalMs);
      different = await compare(this.#keys);
      this.#keys = [...different.keys()];
    }
    const found = new DifferenceList();
    for (const what of different.values()) found.add(what);
    // The candidates beyond the maximum were not compared again; they are counted when at least one of the others still differs.
    if (found.total > 0) found.total += beyond;
    return found;
  }
}
