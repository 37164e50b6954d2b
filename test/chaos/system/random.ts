/** A seeded random generator. The same seed gives the same faults and the same actions of players. */
export interface Random {
  /** 0 (inclusive) to 1. */
  fraction(): number;
  /** From `low` to `high`, both included. */
  between(low: number, high: number): number;
  pick<T>(among: readonly T[]): T;
  shuffled<T>(items: readonly T[]): T[];
  /** Returns a separate generator. Its numbers do not depend on how many numbers other generators have drawn. */
  fork(name: string): Random;
}

/** Returns a Mulberry32 generator. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  const fraction = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (low: number, high: number) => low + Math.floor(fraction() * (high - low + 1));
  const pick = <T>(among: readonly T[]): T => {
    const one = among[between(0, among.length - 1)];
    if (one === undefined) throw new Error('the list to pick from is empty');
    return one;
  };
  const shuffled = <T>(items: readonly T[]): T[] => {
    const left = [...items];
    return items.flatMap(() => left.splice(between(0, left.length - 1), 1));
  };
  const fork = (name: string) => randomOf([...name].reduce((hash, letter) => Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 0x01000193), seed));
  return { fraction, between, pick, shuffled, fork };
}
