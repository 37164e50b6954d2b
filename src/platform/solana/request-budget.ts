import { observeRpcWait } from '#platform/observability/metrics/metrics.ts';

/** The ranks of requests, most urgent first. */
const RANKS = ['urgent', 'normal', 'background'] as const;
type Rank = (typeof RANKS)[number];

/** Methods that are not of the rank `normal`. Sending and statuses move money that is signed already; histories can wait. */
const RANK_OF: Readonly<Record<string, Rank>> = {
  sendTransaction: 'urgent',
  getSignatureStatuses: 'urgent',
  getSignaturesForAddress: 'background',
  getTransaction: 'background',
  getBlock: 'background',
  getBlockTime: 'background',
  getTokenLargestAccounts: 'background',
};

/** Maximum time for which a request waits for the budget, ms. */
const PATIENCE_MS = 10_000;
/** Time for which no request is sent after the RPC node limited the rate, ms, unless it names another time, up to the maximum. */
const PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 5_000;
/** Maximum number of waiting requests of a rank. */
const MAX_WAITING = 10_000;
/** Every request of this number goes to the request that has waited the longest, so that no rank starves. */
const SHARE = 10;

interface Waiting {
  readonly since: number;
  readonly grant: () => void;
  readonly refuse: (error: Error) => void;
}

/**
 * The requests per second that this process may send to an RPC node. No second contains more requests than the budget. When the budget is used up,
 * requests wait by rank.
 */
export class RequestBudget {
  readonly #burst: number;
  /** Requests that the budget gains per ms. The burst and the requests gained in a second are the budget. */
  readonly #rate: number;
  readonly #patienceMs: number;
  readonly #waiting: Readonly<Record<Rank, Waiting[]>> = { urgent: [], normal: [], background: [] };
  #free: number;
  #countedAt = performance.now();
  /** Time before which nothing is granted, because the RPC node limited the rate. */
  #pausedUntil = 0;
  #granted = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param perSecond at least 2 */
  constructor(perSecond: number, { patienceMs = PATIENCE_MS } = {}) {
    this.#burst = Math.max(1, Math.floor(perSecond / 10));
    this.#rate = (perSecond - this.#burst) / 1_000;
    this.#free = this.#burst;
    this.#patienceMs = patienceMs;
  }

  /**
   * Waits until a request may be sent.
   * @throws when the request has waited too long, or too many requests wait
   */
  async take(method: string): Promise<void> {
    const rank = RANK_OF[method] ?? 'normal';
    this.#count();
    if (this.#free >= 1 && this.#timer === undefined && this.#countedAt >= this.#pausedUntil) {
      this.#free--;
      return;
    }
    const queue = this.#waiting[rank];
    if (queue.length >= MAX_WAITING) throw new Error('too many requests wait for the request budget of the RPC node');
    const since = performance.now();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    queue.push({ since, grant: resolve, refuse: reject });
    this.#schedule();
    try {
      await promise;
    } finally {
      observeRpcWait(rank, performance.now() - since);
    }
  }

  /**
   * Grants nothing for a time, because the RPC node limited the rate.
   * @param retryAfter the header `Retry-After` of its response
   */
  pause(retryAfter: string | null): void {
    const seconds = retryAfter === null ? Number.NaN : Number(retryAfter);
    const ms = seconds >= 0 ? Math.min(MAX_PAUSE_MS, seconds * 1_000) : PAUSE_MS;
    this.#pausedUntil = Math.max(this.#pausedUntil, performance.now() + ms);
  }

  /** Adds the requests that the budget has gained since the last call. */
  #count(): void {
    const now = performance.now();
    this.#free = Math.min(this.#burst, this.#free + (now - this.#countedAt) * this.#rate);
    this.#countedAt = now;
  }

  #schedule(): void {
    const untilFree = (1 - this.#free) / this.#rate;
    const untilResumed = this.#pausedUntil - performance.now();
    this.#timer ??= setTimeout(() => this.#serve(), Math.max(1, Math.ceil(Math.max(untilFree, untilResumed))));
  }

  /** Grants waiting requests, and refuses those that have waited too long. */
  #serve(): void {
    this.#timer = undefined;
    this.#count();
    const oldest = performance.now() - this.#patienceMs;
    for (const queue of Object.values(this.#waiting)) {
      while (queue[0] && queue[0].since < oldest) queue.shift()?.refuse(new Error('the request budget of the RPC node is used up'));
    }
    for (let next = this.#next(); next && this.#free >= 1 && this.#countedAt >= this.#pausedUntil; next = this.#next()) {
      next.shift()?.grant();
      this.#granted++;
      this.#free--;
    }
    if (this.#next()) this.#schedule();
  }

  /** Returns the queue whose first request is served next; undefined when none waits. */
  #next(): Waiting[] | undefined {
    const queues = RANKS.map((rank) => this.#waiting[rank]).filter(({ length }) => length > 0);
    const isShare = this.#granted % SHARE === SHARE - 1;
    return isShare ? queues.toSorted((a, b) => (a[0]?.since ?? 0) - (b[0]?.since ?? 0))[0] : queues[0];
  }
}
