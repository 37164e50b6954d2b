import { setTimeout as sleep } from 'node:timers/promises';
import { FairQueue, type Place, type PlaceBounds, PlaceRefused, type RefusedBy } from '#lib/concurrency/fair-queue.ts';
import { fail, unavailable } from '#lib/errors.ts';
import { type App, perApp } from '#platform/app.ts';
import { tooManyRequests } from '#platform/auth/rate-limit.ts';
import { countRefusal, createRefusalSeries } from '#platform/observability/metrics/refusal-metrics.ts';
import type { BoundedLoad } from './route.ts';

/**
 * Maximum requests of a load that run at once in this process, as multiples of the size of the connection pool: of all callers, of all callers without
 * credentials together, and of one wallet or token. The reads, writes and long reads of one caller never use the whole pool.
 */
const SHARES: Readonly<Record<BoundedLoad, { readonly all: number; readonly anonymous: number; readonly caller: number }>> = {
  read: { all: 20, anonymous: 4, caller: 0.4 },
  write: { all: 20, anonymous: 4, caller: 0.3 },
  worker: { all: 200, anonymous: 1, caller: 1 },
  costly: { all: 4, anonymous: 2, caller: 0.2 },
  lookup: { all: 4, anonymous: 1, caller: 0.2 },
  upload: { all: 40, anonymous: 1, caller: 0.2 },
};
/** Requests in flight per request that may run: the others wait, or the service reads their bodies. */
const IN_FLIGHT_PER_RUNNING = 16;
/** Maximum time for which a request waits until it may run, ms. */
const WAIT_MS = 5_000;
/** Delay of the response to a refused request, ms, so that a client that repeats its requests at once costs little. */
const REFUSAL_DELAY_MS = 1_000;
/** Maximum number of refused requests whose responses are delayed at the same time. */
const MAX_DELAYED = 2_000;
/** Interval at which the service checks whether the client of a download reads it, ms. */
const DOWNLOAD_CHECK_MS = 1_000;
/** The caller of all requests without credentials. */
const ANONYMOUS = '';

/** The requests in flight of one process. */
class InFlight {
  #lanes: Lanes;
  #delayed = 0;

  /** @param pool the number of database connections of this process */
  constructor(pool: number) {
    this.#lanes = openLanes(pool);
  }

  /** Replaces the bounds by those of another size of the connection pool. Precondition: no request is in flight. */
  resize(pool: number): void {
    this.#lanes = openLanes(pool);
  }

  /**
   * Takes a turn for a request. The caller of this function ends the turn.
   * @param caller the wallet of the session, or the name of the token after `token `; null without credentials
   * @throws 429 when the caller has too many requests in flight, 503 when all callers together have too many
   */
  enter(load: BoundedLoad, caller: string | null): Turn | Promise<never> {
    const { queue, anonymous, known } = this.#lanes[load];
    const bounds = caller === null ? anonymous : known;
    const place = queue.enter(caller ?? ANONYMOUS, bounds);
    const refuse = (by: RefusedBy) => this.#refuse(load, bounds, by);
    return typeof place === 'string' ? refuse(place) : new Turn(queue, place, refuse);
  }

  /** Counts a refused request, and waits before its response. */
  async delayRefusal(load: BoundedLoad | 'stream', by: RefusedBy): Promise<void> {
    countRefusal(load, by);
    if (this.#delayed >= MAX_DELAYED) return;
    this.#delayed++;
    await sleep(REFUSAL_DELAY_MS);
    this.#delayed--;
  }

  async #refuse(load: BoundedLoad, { inFlight }: PlaceBounds, by: RefusedBy): Promise<never> {
    await this.delayRefusal(load, by);
    if (by === 'total') throw unavailable('the service has too many requests in flight, try again');
    throw tooManyRequests(`a caller may have at most ${inFlight} requests of this kind in flight, try again later`, {
      name: `in-flight-${load}`,
      quota: inFlight,
      windowMs: null,
      waitMs: 1_000,
    });
  }
}

/** The queue of a load, and the bounds of its callers. */
interface Lane {
  readonly queue: FairQueue;
  readonly anonymous: PlaceBounds;
  readonly known: PlaceBounds;
}
type Lanes = Readonly<Record<BoundedLoad, Lane>>;

function openLanes(pool: number): Lanes {
  createRefusalSeries('stream');
  const bounds = (share: number): PlaceBounds => {
    const running = Math.max(1, Math.round(share * pool));
    return { running, inFlight: running * IN_FLIGHT_PER_RUNNING };
  };
  const open = (load: BoundedLoad): Lane => {
    createRefusalSeries(load);
    const { all, anonymous, caller } = SHARES[load];
    return { queue: new FairQueue(bounds(all), WAIT_MS), anonymous: bounds(anonymous), known: bounds(caller) };
  };
  return { read: open('read'), write: open('write'), worker: open('worker'), costly: open('costly'), lookup: open('lookup'), upload: open('upload') };
}

/** A response or a socket, which emits `close`. */
interface Connection {
  readonly closed: boolean;
  once(event: 'close', listener: () => void): unknown;
  off(event: 'close', listener: () => void): unknown;
}

/** The response of a download. */
interface Download extends Connection {
  readonly writableNeedDrain: boolean;
  readonly writableEnded: boolean;
}

/** The turn of a request among the requests in flight. */
export class Turn {
  readonly #queue: FairQueue;
  readonly #place: Place;
  readonly #refuse: (by: RefusedBy) => Promise<never>;

  constructor(queue: FairQueue, place: Place, refuse: (by: RefusedBy) => Promise<never>) {
    this.#queue = queue;
    this.#place = place;
    this.#refuse = refuse;
  }

  /**
   * Waits until the request may run. Returns null when it may run at once.
   * @param connection the response of the request, or the socket of an upgrade request
   * @throws 429 or 503 when the request has waited too long, or has made room for another caller
   */
  start(connection: Connection): Promise<void> | null {
    const wait = this.#queue.start(this.#place);
    if (wait === null) return null;
    // The request of a client that disconnects leaves the queue.
    const leave = () => this.end();
    connection.once('close', leave);
    return wait
      .finally(() => connection.off('close', leave))
      .catch((error: unknown) => {
        // Nobody reads the response.
        if (connection.closed) throw fail(408, 'the client disconnected before the request could run');
        if (error instanceof PlaceRefused) return this.#refuse(error.by);
        throw error;
      });
  }

  /** Ends the turn, so that another request may run. */
  end(): void {
    this.#queue.leave(this.#place);
  }

  /**
   * Ends the turn when a download has ended, or when its client reads it more slowly than the service sends it. Such a download waits for its client and
   * costs little. If it kept its turn, a few clients that read slowly could refuse the downloads of all others.
   */
  endAfter(response: Download): void {
    const timer = setInterval(() => {
      if (response.writableNeedDrain || response.writableEnded) end();
    }, DOWNLOAD_CHECK_MS).unref();
    const end = () => {
      clearInterval(timer);
      this.end();
    };
    if (response.closed) end();
    else response.once('close', end);
  }
}

const inFlight = perApp((app) => new InFlight(app.config.database.pool));

/** Returns the requests in flight of this application. */
export const inFlightOf = (app: App): InFlight => app.state(inFlight);
