/** A cache of values by key. */
interface TtlCache<Key, Value> {
  get(key: Key): Promise<Value>;
  delete(key: Key): void;
}

/**
 * Caches the results of `load` for a maximum age; concurrent requests for a key share one load. Failures are not cached. Entries are not evicted, so
 * use this cache only with a bounded set of keys.
 * @param maxAgeMs time from the start of a load until its value expires, ms; measured with a monotonic clock, so changes of the system time do not
 * matter
 */
export function ttlCache<Key, Value>(maxAgeMs: number, load: (key: Key) => Promise<Value>): TtlCache<Key, Value> {
  const entries = new Map<Key, { at: number; value: Promise<Value> }>();
  return {
    get(key) {
      const cached = entries.get(key);
      if (cached && performance.now() - cached.at < maxAgeMs) return cached.value;
      const entry = { at: performance.now(), value: load(key) };
      entries.set(key, entry);
      entry.value.catch(() => {
        if (entries.get(key) === entry) entries.delete(key);
      });
      return entry.value;
    },
    delete: (key) => void entries.delete(key),
  };
}
