/** Limits of a batch cache. */
interface BatchCacheOptions<Item> {
  /** Returns the key of an item. Items with the same key have the same value. */
  readonly keyOf: (item: Item) => string;
  /** Time from the start of a load until its values expire, ms; measured with a monotonic clock. */
  readonly maxAgeMs: number;
  /** Maximum cached values. The values that were loaded first are evicted. */
  readonly maxValues: number;
}

/**
 * Caches values of items, and loads the missing values of a call in one batch. Concurrent calls share the load of an item. While loads fail, expired
 * values are returned; a call that needs a value that was never loaded fails with the load.
 * @param load returns the values of some items, in the order of the items
 * @returns a function that returns the values of some items, in the order of the items
 */
export function batchCache<Item, Value>(
  { keyOf, maxAgeMs, maxValues }: BatchCacheOptions<Item>,
  load: (items: readonly Item[]) => Promise<readonly Value[]>,
): (items: readonly Item[]) => Promise<Value[]> {
  interface Entry {
    readonly value: Value;
    readonly at: number;
  }
  const cached = new Map<string, Entry>();
  const loading = new Map<string, Promise<ReadonlyMap<string, Entry>>>();

  const loadMissing = async (missing: ReadonlyMap<string, Item>): Promise<ReadonlyMap<string, Entry>> => {
    const at = performance.now();
    const keys = [...missing.keys()];
    const expired = keys.flatMap((key) => cached.get(key) ?? []);
    try {
      const values = await load([...missing.values()]);
      const loaded = new Map<string, Entry>();
      for (const [i, value] of values.entries()) loaded.set(keys[i] ?? '', { value, at });
      for (const [key, entry] of loaded) {
        // Deletes the key first, so that the map is in the order of the loads.
        cached.delete(key);
        cached.set(key, entry);
      }
      for (const key of cached.keys()) {
        if (cached.size <= maxValues) break;
        cached.delete(key);
      }
      return loaded;
    } catch (error) {
      if (expired.length < keys.length) throw error;
      return new Map(expired.map((entry, i) => [keys[i] ?? '', entry]));
    } finally {
      for (const key of keys) loading.delete(key);
    }
  };

  return async (items) => {
    const now = performance.now();
    const keys = items.map(keyOf);
    const found = new Map<string, Entry>();
    const missing = new Map<string, Item>();
    const loads = new Set<Promise<ReadonlyMap<string, Entry>>>();
    items.forEach((item, i) => {
      const key = keys[i] ?? '';
      const entry = cached.get(key);
      if (entry && now - entry.at < maxAgeMs) found.set(key, entry);
      else {
        const running = loading.get(key);
        if (running) loads.add(running);
        else missing.set(key, item);
      }
    });
    if (missing.size > 0) {
      // Begins the load in a later turn, so that `loading` has its keys before it ends.
      const started = Promise.resolve(missing).then(loadMissing);
      for (const key of missing.keys()) loading.set(key, started);
      loads.add(started);
    }
    for (const loaded of await Promise.all(loads)) for (const [key, entry] of loaded) found.set(key, entry);
    return keys.map((key) => {
      const entry = found.get(key);
      if (!entry) throw new Error('a load of a batch cache returned fewer values than items');
      return entry.value;
    });
  };
}
