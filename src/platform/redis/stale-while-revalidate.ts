import { z } from 'zod';
import { HttpError, unavailable } from '#lib/errors.ts';
import { type App, perApp } from '#platform/app.ts';

/** A value that was read from a source, and the time at which the read started, ms since 1970. */
export interface Reading<Value> {
  readonly value: Value;
  readonly at: number;
}

/** An external source of values that may be slow or unavailable. Times are ms. */
export interface Source<Key, Value> {
  /** Name of the source in Redis keys and logs. */
  readonly name: string;
  keyOf(key: Key): string;
  /** Validates values that are read from Redis. */
  readonly shape: z.ZodType<Value>;
  /** Maximum age of a cached value that is returned without a new request. */
  readonly freshMs: number;
  /** Maximum age of a cached value that is returned while the source fails or is slow. */
  readonly staleMs: number;
  /** Maximum time that a caller waits for a new value when a stale value exists. */
  readonly waitIfStaleMs: number;
  /** Maximum time that a caller waits for a new value when no cached value exists. */
  readonly waitIfMissingMs: number;
  /** Delay after a failure before the source is requested again. */
  readonly failureBackoffMs: number;
  /** Maximum cached keys per process. */
  readonly maxKeys: number;
  /** Maximum concurrent requests per process. */
  readonly maxConcurrent: number;
  /** Message of the 503 error that is thrown when there is no value. */
  readonly unavailableMessage: string;
  read(app: App, key: Key): Promise<Value>;
}

/** The state of a source in one application. Each map has a maximum size. */
interface SourceState<Value> {
  readonly readings: Map<string, Reading<Value>>;
  readonly failures: Map<string, { readonly at: number; readonly error: unknown }>;
  readonly inFlight: Map<string, Promise<Reading<Value>>>;
}

interface StaleWhileRevalidate<Key, Value> {
  /** Returns a value, from the cache or the source. @throws 503 when there is no value */
  (app: App, key: Key): Promise<Reading<Value>>;
  /**
   * Returns the cached values of the keys, in the order of the keys; null for a key that has no value or whose value is older than `staleMs`. Never
   * sends a request to the source.
   */
  cached(app: App, keys: readonly Key[]): Promise<(Reading<Value> | null)[]>;
}

/** Timeout of a request to a source, ms. */
const READ_TIMEOUT_MS = 15_000;
const TIMED_OUT = Symbol('timed out');

/** Value of the Retry-After header of the 503 error, seconds. */
const RETRY_AFTER_SEC = 2;

/**
 * Caches the values of a source, in the process and in Redis. A value up to `freshMs` old is returned without a request to the source; concurrent
 * callers of a key share one request. While the source fails or is slow, callers get the last value, up to `staleMs` old. While Redis is down, each
 * process uses only its own cache.
 */
export function staleWhileRevalidate<Key, Value>(source: Source<Key, Value>): StaleWhileRevalidate<Key, Value> {
  const states = perApp((): SourceState<Value> => ({ readings: new Map(), failures: new Map(), inFlight: new Map() }));
  const Stored = z.object({ value: source.shape, at: z.number() });
  const redisKey = (app: App, key: string) => `${app.config.redis.prefix}:last-good:${source.name}:${key}`;

  const readRedis = async (app: App, key: string): Promise<Reading<Value> | null> => {
    try {
      const text = await app.redis.get(redisKey(app, key));
      return text === null ? null : (Stored.safeParse(JSON.parse(text)).data ?? null);
    } catch {
      // Redis is down, or the stored text is not JSON. The caller then requests the value from the source.
      return null;
    }
  };

  const readSource = async (app: App, state: SourceState<Value>, name: string, key: Key): Promise<Reading<Value>> => {
    const at = app.clock.now().getTime();
    try {
      const value = await withTimeout(READ_TIMEOUT_MS, source.read(app, key), TIMED_OUT);
      if (value === TIMED_OUT) throw new Error(`${source.name} did not answer within ${READ_TIMEOUT_MS} ms`);
      const reading = { value, at };
      put(state.readings, name, reading, source.maxKeys);
      state.failures.delete(name);
      await app.redis.set(redisKey(app, name), JSON.stringify(reading), 'PX', source.staleMs).catch(() => null);
      return reading;
    } catch (error) {
      put(state.failures, name, { at: app.clock.now().getTime(), error }, source.maxKeys);
      app.log.warn({ err: error, source: source.name }, 'an external source did not answer; the last value is used while it is not too old');
      throw error;
    }
  };

  /** Joins the request in flight for this key, or starts a request. */
  const shareRead = (app: App, state: SourceState<Value>, name: string, key: Key): Promise<Reading<Value>> => {
    const inFlight = state.inFlight.get(name);
    if (inFlight) return inFlight;
    if (state.inFlight.size >= source.maxConcurrent) return Promise.reject(unavailable('too many concurrent requests, try again', 1));
    const started = readSource(app, state, name, key);
    state.inFlight.set(name, started);
    const end = () => state.inFlight.delete(name);
    started.then(end, end);
    return started;
  };

  const get = async (app: App, key: Key): Promise<Reading<Value>> => {
    const state = app.state(states);
    const name = source.keyOf(key);
    const now = app.clock.now().getTime();
    // Compares the absolute difference: the clocks of the processes differ a little, so the time of a value from another process may be in the
    // future.
    const isWithin = (at: number, ms: number) => Math.abs(now - at) < ms;
    const own = state.readings.get(name);
    if (own && isWithin(own.at, source.freshMs)) return own;
    const best = newer(own ?? null, await readRedis(app, name));
    if (best && isWithin(best.at, source.freshMs)) {
      put(state.readings, name, best, source.maxKeys);
      return best;
    }
    const failure = state.failures.get(name);
    const isBackingOff = failure !== undefined && isWithin(failure.at, source.failureBackoffMs);
    const reading = isBackingOff ? Promise.reject(failure.error) : shareRead(app, state, name, key);
    if (best && isWithin(best.at, source.staleMs)) return await withTimeout(source.waitIfStaleMs, reading, best).catch(() => best);
    try {
      const answer = await withTimeout(source.waitIfMissingMs, reading, null);
      if (answer) return answer;
    } catch (error) {
      if (error instanceof HttpError) throw error;
      throw Object.assign(unavailable(source.unavailableMessage, RETRY_AFTER_SEC), { cause: error });
    }
    throw unavailable(source.unavailableMessage, RETRY_AFTER_SEC);
  };

  const cached = async (app: App, keys: readonly Key[]): Promise<(Reading<Value> | null)[]> => {
    if (keys.length === 0) return [];
    const { readings } = app.state(states);
    const names = keys.map(source.keyOf);
    const now = app.clock.now().getTime();
    const stored = await Promise.all(names.map((name) => readRedis(app, name)));
    return stored.map((reading, i) => {
      const best = newer(readings.get(names[i] ?? '') ?? null, reading);
      return best && Math.abs(now - best.at) < source.staleMs ? best : null;
    });
  };
  return Object.assign(get, { cached });
}

/** Returns the result of a promise, or `fallback` after `ms`. The promise is not cancelled. */
export async function withTimeout<T, Fallback>(ms: number, work: Promise<T>, fallback: Fallback): Promise<T | Fallback> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<Fallback>((resolve) => {
    timer = setTimeout(resolve, ms, fallback);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

function newer<Value>(a: Reading<Value> | null, b: Reading<Value> | null): Reading<Value> | null {
  if (!a || !b) return a ?? b;
  return a.at >= b.at ? a : b;
}

/** Stores an entry as the newest, and evicts the oldest entry when the map exceeds `maxEntries`. */
function put<Entry>(map: Map<string, Entry>, key: string, entry: Entry, maxEntries: number): void {
  map.delete(key);
  map.set(key, entry);
  const oldest = map.keys().next();
  if (map.size > maxEntries && !oldest.done) map.delete(oldest.value);
}
