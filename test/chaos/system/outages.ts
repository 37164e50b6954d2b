import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 200;
const TIMEOUT_MS = 2_000;
/** An outage that lasts longer is reported when it ends, ms. */
const REPORT_MS = 30_000;

/** Measures how long API processes are not ready. */
export class Outages {
  readonly #longest = new Map<string, number>();
  /** Times of the failed checks, on the clock of `performance.now()`. */
  readonly #failedAt: number[] = [];
  readonly #watching: Promise<unknown>;
  readonly #report: (line: string) => void;
  #over = false;

  /** @param report prints a sentence about an outage that has ended */
  constructor(urls: readonly string[], report: (line: string) => void) {
    this.#report = report;
    this.#watching = Promise.all(urls.map((url) => this.#watch(url)));
  }

  /** Returns one sentence per API process that was not ready for a longer time. */
  longerThan(ms: number): string[] {
    return [...this.#longest].filter(([, longest]) => longest > ms).map(([url, longest]) => `${url} was not ready for ${Math.round(longest)} ms`);
  }

  /** The longest time that an API process was not ready, ms. */
  get longest(): number {
    return Math.max(0, ...this.#longest.values());
  }

  /** Returns whether an API process was not ready between two times on the clock of `performance.now()`. */
  hasAny(from: number, to: number): boolean {
    return this.#failedAt.some((at) => from <= at && at <= to);
  }

  async stop(): Promise<void> {
    this.#over = true;
    await this.#watching;
  }

  async #watch(url: string): Promise<void> {
    for (let readyAt = performance.now(); !this.#over; await sleep(POLL_MS)) {
      const isReady = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(TIMEOUT_MS) }).then(
        ({ ok }) => ok,
        () => false,
      );
      const outage = performance.now() - readyAt;
      this.#longest.set(url, Math.max(this.#longest.get(url) ?? 0, outage));
      if (isReady && outage > REPORT_MS) this.#report(`${url} was not ready for ${Math.round(outage)} ms`);
      if (isReady) readyAt = performance.now();
      else this.#failedAt.push(performance.now());
    }
  }
}
