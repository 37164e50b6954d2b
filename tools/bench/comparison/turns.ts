import { once } from 'node:events';

/** Messages of a benchmark process and of the process that started it. */
export const PASS = 'pass';
export const GO = 'go';

/** How often a comparison repeats each measurement that takes turns; 1 outside a comparison. */
export const TURNS = Number(process.env.BENCH_TURNS ?? 1);

/**
 * Repeats a measurement `TURNS` times. Passes the turn after each time, so that the benchmark process of the other side of the comparison measures next. The speed
 * of a shared machine changes within minutes, and both sides then meet the same speeds.
 */
export async function inTurns(measure: () => Promise<void>): Promise<void> {
  for (let i = 0; i < TURNS; i++) {
    await measure();
    if (TURNS === 1 || !process.send) continue;
    process.send(PASS);
    await once(process, 'message');
  }
}

/** Gives turns to processes, in the order in which they ask. Only one of them has the turn. */
export class Turns {
  #isTaken = false;
  readonly #waiting: (() => void)[] = [];

  /** Waits for the turn. */
  async take(): Promise<void> {
    if (this.#isTaken) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#isTaken = true;
  }

  /** Gives the turn to the next process that waits. Precondition: the caller has the turn. */
  pass(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#isTaken = false;
  }
}
