import { once } from 'node:events';

/** Message of a benchmark process that passes its turn to the other side. */
export const PASS = 'pass';
/** Message to a benchmark process that has the turn again. */
export const GO = 'go';

/** How often a comparison repeats each measurement that takes turns; 1 outside a comparison. */
export const TURNS = Number(process.env.BENCH_TURNS ?? 1);

/**
 * Repeats a measurement. Passes the turn after each time, so that the other side of the comparison measures next. The speed of a shared machine
 * changes within minutes, and both sides then meet the same speeds.
 * @param pause function that stops all processes of the measured system, so that they take no CPU time from the other side, and returns a function that lets them run again
 * @param times number of times; by default, `TURNS`
 * @throws AbortError when the process of the comparison ends meanwhile, so that the caller stops its system
 */
export async function inTurns(measure: () => Promise<void>, pause = () => async () => {}, times = TURNS): Promise<void> {
  for (let i = 0; i < times; i++) {
    await measure();
    if (TURNS === 1 || !process.send) continue;
    const resume = pause();
    try {
      process.send(PASS);
      await nextTurn();
    } finally {
      await resume();
    }
  }
}

/** Waits for the turn. Listens to the process of the comparison only meanwhile, because each listener keeps this process alive. */
async function nextTurn(): Promise<void> {
  const alone = new AbortController();
  const abort = () => alone.abort();
  process.once('disconnect', abort);
  try {
    await once(process, 'message', { signal: alone.signal });
  } finally {
    process.off('disconnect', abort);
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
