import { z } from 'zod';
import { HttpError, unavailable } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';

/** What was read from outside, and when it was asked for: ms since 1970. */
export interface Reading<Value> {
  readonly value: Value;
  readonly at: number;
}

/** Something outside that is asked seldom, and is not there always. Times are ms. */
export interface Source<Ask, Value> {
  /** Names it in Redis and in logs. */
  readonly name: string;
  keyOf(ask: Ask): string;
  /** What a value from Redis must be to be believed. */
  readonly shape: z.ZodType<Value>;
  /** How long a value is handed out without asking again. */
  readonly freshMs: number;
  /** How long it stands in for one that cannot be had. */
  readonly keptMs: number;
  /** How long a caller waits for a new value: where an older one can stand in, and where none can. */
  readonly patienceMs: number;
  readonly withinMs: number;
  /** After a failure, how long nobody asks again. */
  readonly restMs: number;
  /** Keys that a process remembers, and that it asks for at once. */
  readonly most: number;
  readonly atOnce: number;
  /** Told to the caller with the 503. */
  readonly unknown: string;
  read(app: App, ask: Ask): Promise<Value>;
}

/** What one process knows of a source. All its maps are bounded, and none is needed: Redis knows the same, and the source more. */
interface Known<Value> {
  readonly readings: Map<string, Reading<Value>>;
  readonly failures: Map<string, { readonly at: number; readonly error: unknown }>;
  readonly running: Map<string, Promise<Reading<Value>>>;
}

/** What asks; and what only looks at what is known, at most `keptMs` old, and never asks outside. */
export interface LastGood<Ask, Value> {
  (app: App, ask: Ask): Promise<Reading<Value>>;
  known(app: App, asks: readonly Ask[]): Promise<(Reading<Value> | null)[]>;
}

/** Beyond this a read counts as failed, and another may begin, ms. */
const READ_LIMIT_MS = 15_000;
const LATE = Symbol('late');

/** How long a caller is asked to stay away while nothing is known, seconds. */
const RETRY_AFTER_SEC = 2;

/**
 * Hands out a value that is at most `freshMs` old, read by one process and shared with the others through Redis; concurrent asks for a
 * key share one read. While the source fails or dawdles, the last good value stands in, `keptMs` at most. Redis only spares reads:
 * without it each process reads for itself.
 * @returns what asks; it throws 503 when there is nothing to hand out
 */
export function lastGood<Ask, Value>(source: Source<Ask, Value>): LastGood<Ask, Value> {
  const processes = new WeakMap<App, Known<Value>>();
  const Stored = z.object({ value: source.shape, at: z.number() });
  const redisKey = (app: App, key: string) => `${app.config.redis.prefix}:last-good:${source.name}:${key}`;

  const knownTo = (app: App): Known<Value> => {
    const known = processes.get(app) ?? { readings: new Map(), failures: new Map(), running: new Map() };
    processes.set(app, known);
    return known;
  };

  const recall = async (app: App, key: string): Promise<Reading<Value> | null> => {
    try {
      const text = await app.redis.get(redisKey(app, key));
      return text === null ? null : (Stored.safeParse(JSON.parse(text)).data ?? null);
    } catch {
      // Redis is down, or somebody else wrote there.
      return null;
    }
  };

  const read = async (app: App, known: Known<Value>, key: string, ask: Ask): Promise<Reading<Value>> => {
    const at = app.clock.now().getTime();
    try {
      const value = await atMost(READ_LIMIT_MS, source.read(app, ask), LATE);
      if (value === LATE) throw new Error(`${source.name} was not answered within ${READ_LIMIT_MS} ms`);
      const reading = { value, at };
      put(known.readings, key, reading, source.most);
      known.failures.delete(key);
      await app.redis.set(redisKey(app, key), JSON.stringify(reading), 'PX', source.keptMs).catch(() => null);
      return reading;
    } catch (error) {
      put(known.failures, key, { at: app.clock.now().getTime(), error }, source.most);
      app.log.warn({ err: error, source: source.name }, 'a source outside did not answer');
      throw error;
    }
  };

  /** The read that is under way, or a new one. */
  const share = (app: App, known: Known<Value>, key: string, ask: Ask): Promise<Reading<Value>> => {
    const running = known.running.get(key);
    if (running) return running;
    if (known.running.size >= source.atOnce) return Promise.reject(unavailable('too many are asking for this at once', 1));
    const begun = read(app, known, key, ask);
    known.running.set(key, begun);
    const ended = () => known.running.delete(key);
    begun.then(ended, ended);
    return begun;
  };

  const get = async (app: App, ask: Ask): Promise<Reading<Value>> => {
    const known = knownTo(app);
    const key = source.keyOf(ask);
    const now = app.clock.now().getTime();
    // Clocks of processes differ a little: a reading may come from what is the future here.
    const isWithin = (at: number, ms: number) => Math.abs(now - at) < ms;
    const own = known.readings.get(key);
    if (own && isWithin(own.at, source.freshMs)) return own;
    const best = newer(own ?? null, await recall(app, key));
    if (best && isWithin(best.at, source.freshMs)) {
      put(known.readings, key, best, source.most);
      return best;
    }
    const failure = known.failures.get(key);
    const isResting = failure !== undefined && isWithin(failure.at, source.restMs);
    const reading = isResting ? Promise.reject(failure.error) : share(app, known, key, ask);
    if (best && isWithin(best.at, source.keptMs)) return await atMost(source.patienceMs, reading, best).catch(() => best);
    try {
      const answer = await atMost(source.withinMs, reading, null);
      if (answer) return answer;
    } catch (error) {
      if (error instanceof HttpError) throw error;
      throw Object.assign(unavailable(source.unknown, RETRY_AFTER_SEC), { cause: error });
    }
    throw unavailable(source.unknown, RETRY_AFTER_SEC);
  };

  /** One look at Redis for all. */
  const look = async (app: App, asks: readonly Ask[]): Promise<(Reading<Value> | null)[]> => {
    if (asks.length === 0) return [];
    const keys = asks.map(source.keyOf);
    const now = app.clock.now().getTime();
    const texts = await Promise.all(keys.map((key) => recall(app, key)));
    return texts.map((text, i) => {
      const best = newer(knownTo(app).readings.get(keys[i] ?? '') ?? null, text);
      return best && Math.abs(now - best.at) < source.keptMs ? best : null;
    });
  };
  return Object.assign(get, { known: look });
}

/** What a promise brings within a time, else the other value; the promise goes on by itself. */
export async function atMost<T, Otherwise>(ms: number, work: Promise<T>, otherwise: Otherwise): Promise<T | Otherwise> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Otherwise>((resolve) => {
    timer = setTimeout(resolve, ms, otherwise);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

function newer<Value>(a: Reading<Value> | null, b: Reading<Value> | null): Reading<Value> | null {
  if (!a || !b) return a ?? b;
  return a.at >= b.at ? a : b;
}

/** Remembers an entry as the newest, and forgets the oldest beyond the limit. */
function put<Entry>(map: Map<string, Entry>, key: string, entry: Entry, most: number): void {
  map.delete(key);
  map.set(key, entry);
  const oldest = map.keys().next();
  if (map.size > most && !oldest.done) map.delete(oldest.value);
}
