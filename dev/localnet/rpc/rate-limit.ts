/** Length of the window in which the credits are counted, ms. */
const WINDOW_MS = 1_000;

/** The rate limit of a provider: a number of credits per second. A call costs the credits of its method. */
export class RateLimit {
  /** Credits per second; null = no limit. */
  perSecond: number | null = null;
  /** Credits of a call by method; every other method costs 1. */
  credits: Readonly<Record<string, number>> = {};
  /** Number of requests that were refused since the limit was set. */
  refused = 0;
  #spent: { readonly at: number; readonly credits: number }[] = [];

  /** Sets the limit, and counts from 0. */
  set(perSecond: number | null, credits: Readonly<Record<string, number>> = {}): void {
    this.perSecond = perSecond;
    this.credits = credits;
    this.refused = 0;
    this.#spent = [];
  }

  /** Spends the credits of the calls of a request. Returns false if the credits of the last second are used up; the request then costs nothing. */
  take(methods: readonly string[], now: number): boolean {
    if (this.perSecond === null) return true;
    this.#spent = this.#spent.filter(({ at }) => now - at < WINDOW_MS);
    const credits = methods.reduce((sum, method) => sum + (this.credits[method] ?? 1), 0);
    const spent = this.#spent.reduce((sum, one) => sum + one.credits, 0);
    if (spent + credits > this.perSecond) {
      this.refused++;
      return false;
    }
    this.#spent.push({ at: now, credits });
    return true;
  }
}
