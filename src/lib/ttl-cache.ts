/** Values by key that may be a little old. */
export interface TtlCache<Key, Value> {
  get(key: Key): Promise<Value>;
  forget(key: Key): void;
}

/**
 * Keeps what `load` answers for a while, and has concurrent asks share one load. Failures are not kept.
 * Bounded only by its keys: use it for keys that are known to exist.
 * @param maxAgeMs how old an answer may be, counted from when it was asked for; monotonic time, so no clock moves it
 */
export function ttlCache<Key, Value>(maxAgeMs: number, load: (key: Key) => Promise<Value>): TtlCache<Key, Value> {
  const kept = new Map<Key, { at: number; value: Promise<Value> }>();
  return {
    get(key) {
      const known = kept.get(key);
      if (known && performance.now() - known.at < maxAgeMs) return known.value;
      const entry = { at: performance.now(), value: load(key) };
      kept.set(key, entry);
      entry.value.catch(() => {
        if (kept.get(key) === entry) kept.delete(key);
      });
      return entry.value;
    },
    forget: (key) => void kept.delete(key),
  };
}
