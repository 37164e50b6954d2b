import { setTimeout as sleep } from 'node:timers/promises';
import { type AuditContext, DifferenceList, type Differences } from './check.ts';

/** Maximum keys that are compared again. Further keys are only counted. */
const MAX_RECHECKED = 1_000;

/**
 * Keys whose values differed in a first comparison of two systems (for example the database and Redis). They are compared again, because one system
 * may have been updated later than the other system.
 */
export class Candidates<Key> {
  #total = 0;
  #keys: Key[] = [];

  add(key: Key): void {
    this.#total += 1;
    if (this.#keys.length < MAX_RECHECKED) this.#keys.push(key);
  }

  /**
   * Compares the keys again until no key differs or all attempts are used. Returns the differences of the last comparison.
   * @param compare a function that compares keys and returns the keys that still differ, each with a sentence that describes the difference
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
    // `beyond` keys exceed MAX_RECHECKED and were not compared again. They count as differences when at least one key that was compared again still
    // differs.
    if (found.total > 0) found.total += beyond;
    return found;
  }
}
