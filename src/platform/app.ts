import type { MikroORM } from '@mikro-orm/postgresql';
import type { Config } from '#config';
import type { Clock } from '#lib/clock.ts';
import type { Queryable } from './db/sql.ts';
import type { Reads } from './db/standby.ts';
import type { RunTransaction } from './db/transaction.ts';
import type { EventCatalog } from './events/event.ts';
import type { Queues } from './jobs/queues.ts';
import type { Replies } from './jobs/replies.ts';
import type { Logger } from './observability/log.ts';
import type { RedisClient } from './redis/connection.ts';
import type { Chain } from './solana/solana.ts';
import type { Storage } from './storage/storage.ts';

/** The settings, connections and services of one application. Requests and jobs use them. Only `openContext` creates an `App`. */
export interface App {
  readonly config: Config;
  readonly log: Logger;
  readonly clock: Clock;
  readonly orm: MikroORM;
  /** Runs reads outside a transaction. */
  readonly db: Queryable;
  /** Runs reads that may be seconds old: on a standby, if there is one that is not too far behind. */
  readonly reads: Reads;
  /** Runs writes: `app.tx(async (tx) => …)`. */
  readonly tx: RunTransaction;
  /** A Redis connection whose commands fail within a second when Redis is down. */
  readonly redis: RedisClient;
  readonly queues: Queues;
  readonly replies: Replies;
  readonly chain: Chain;
  /** Stores media files. */
  readonly storage: Storage;
  /** Every event type of the service, registered by the areas. */
  readonly events: EventCatalog;
  /** Gauges of the areas. Each scrape of the metrics includes them. */
  readonly gauges: readonly GaugeReader[];
  /** Returns the value that this application holds for `slot`, a declaration made with `perApp`. The first call creates the value. */
  state<Value>(slot: AppState<Value>): Value;
  /** Opens another Redis connection, for subscriptions and blocking commands. `close` closes it together with the other connections. */
  connect(): RedisClient;
  close(): Promise<void>;
}

/** One sample of a gauge: its value and labels. */
export interface GaugeSample {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A group of gauges that are read together during a scrape. */
export interface GaugeReader {
  /** Help texts by gauge name. */
  readonly gauges: Readonly<Record<string, string>>;
  /** Maximum age of cached samples, ms. Several scrapers share the cached samples, so they cause no more reads than one scraper. */
  readonly cacheMs: number;
  /**
   * Reads the samples at a bounded cost. When `read` throws or takes longer than 1.5 s, the scrape contains no samples of this group. It does not
   * contain the previous samples, because outdated samples would look current.
   */
  read(app: App): Promise<readonly GaugeSample[]> | readonly GaugeSample[];
}

/**
 * Declares a value that each application creates once, such as a cache or a batcher. A module keeps no state in its own variables, because one
 * process may run several applications, as tests do.
 */
export interface AppState<Value> {
  readonly create: (app: App) => Value;
}

/**
 * Declares a value that each application creates once: `const cache = perApp((app) => ttlCache(…))`. `app.state(cache)` returns the value.
 * @param create runs at most once per application
 */
export const perApp = <Value>(create: (app: App) => Value): AppState<Value> => ({ create });

/** Holds the values of one application for all declarations made with `perApp`. */
export class AppStates {
  readonly #values = new Map<AppState<unknown>, unknown>();

  /** Returns the value for the declaration `slot`. The first call creates the value. */
  get<Value>(app: App, slot: AppState<Value>): Value {
    if (!this.#values.has(slot)) this.#values.set(slot, slot.create(app));
    // The cast is safe, because the map holds under each slot only the value that `create` of this slot returned. TypeScript cannot express this
    // type.
    return this.#values.get(slot) as Value;
  }

  /** Closes the values that own resources, such as worker threads. */
  async close(): Promise<void> {
    const values = [...this.#values.values()];
    this.#values.clear();
    await Promise.all(values.map((value) => (isAsyncDisposable(value) ? value[Symbol.asyncDispose]() : undefined)));
  }
}

const isAsyncDisposable = (value: unknown): value is AsyncDisposable => typeof value === 'object' && value !== null && Symbol.asyncDispose in value;
