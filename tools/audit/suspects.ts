import { setTimeout as sleep } from 'node:timers/promises';
import { type Audit, type Differences, Found } from './check.ts';

/** Of all that looks different at first, so many are looked at again. */
const MOST_KEPT = 1_000;

/** What looked different at first. What it is about can be looked at again: one of two systems may have been behind. */
export class Suspects<Key> {
  #total = 0;
  #kept: Key[] = [];

  add(key: Key): void {
    this.#total += 1;
    if (this.#kept.length < MOST_KEPT) this.#kept.push(key);
  }

  /**
   * Looks at them again until none is left, or patience is at its end.
   * @param look tells which of some still differ, and how, in a sentence each
   */
  async confirm({ patience }: Pick<Audit, 'patience'>, look: (keys: readonly Key[]) => Promise<Map<Key, string>>): Promise<Differences> {
    let different = new Map<Key, string>();
    const beyond = this.#total - this.#kept.length;
    for (let i = 0; i < patience.looks && this.#kept.length > 0; i++) {
      if (i > 0) await sleep(patience.everyMs);
      different = await look(this.#kept);
      this.#kept = [...different.keys()];
    }
    const found = new Found();
    for (const what of different.values()) found.add(what);
    // With so many at once, those that were not looked at again are no coincidence.
    if (found.total > 0) found.total += beyond;
    return found;
  }
}
