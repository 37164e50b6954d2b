import { readFileSync } from 'node:fs';
import Sequencer from '@jest/test-sequencer';

/** Patterns in the path or text of slow test files, slowest first: real processes, a Solana cluster, model tests. */
const SLOW = [/\/chaos\/|\bstartSystem\(|\/fuzz\//, /\/(?:lottery|verify)\/|[Kk]ill|\bstartTestChain\(|[Ll]ocalnet/, /\bmodel\b/i];

/** Runs slow files first. Otherwise a slow file that starts last would run alone while the other workers idle. */
export default class SlowFirst extends Sequencer {
  sort(tests) {
    const rank = new Map(tests.map((test) => [test, this.#rank(test.path)]));
    return [...tests].sort((a, b) => rank.get(a).tier - rank.get(b).tier || rank.get(b).size - rank.get(a).size);
  }

  #rank(path) {
    const text = readFileSync(path, 'utf8');
    const tier = SLOW.findIndex((pattern) => pattern.test(`${path}\n${text}`));
    return { tier: tier < 0 ? SLOW.length : tier, size: text.length };
  }
}
