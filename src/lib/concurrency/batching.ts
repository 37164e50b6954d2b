interface BatchingOptions<Item> {
  /** Maximum items per batch. */
  maxSize: number;
  /** Maximum bytes of a batch of several items. An item with more bytes is a batch of its own. */
  maxBytes?: number;
  bytesOf?: (item: Item) => number;
  /** Maximum batches in flight. */
  maxConcurrent: number;
  /**
   * Minimum items of a batch that starts while another batch is in flight. A smaller batch costs more CPU time than its early start saves. With this option, the
   * batches share the items evenly: the share of a batch is the number of items that are in flight, pending or expected, divided by `maxConcurrent`, but at least
   * this minimum. Without the option, one batch takes all pending items. Its callers then add their next items at the same time, so the next batch takes all
   * items again, and only one batch is in flight. The function is called for each decision.
   */
  minConcurrentSize?: () => number;
  /**
   * Maximum time for which a batch waits for further items, ms. A batch waits only after a batch of several items has ended and while no batch is in flight: callers
   * that just got a result can add their next item. The batch starts earlier when it has its share, or when all these callers have added an item.
   */
  lingerMs?: number;
}

/**
 * The part of its share that a batch needs in order to start while another batch is in flight. If a batch needed its whole share, one missing item would delay the
 * batch until the other batch ends.
 */
const LEAST_SHARE = 0.75;

/**
 * Collects the items that arrive while batches are in flight and flushes them as the next batch. Batches grow under load; a single item is flushed at
 * once.
 * @param flush function that processes one batch; when it rejects, the promise of every item of the batch rejects
 */
export function batching<Item>(
  flush: (items: Item[]) => Promise<void>,
  { maxSize, maxBytes = Number.POSITIVE_INFINITY, bytesOf = () => 0, maxConcurrent, minConcurrentSize, lingerMs = 0 }: BatchingOptions<Item>,
): (item: Item) => Promise<void> {
  let pending: { item: Item; resolve: () => void; reject: (error: unknown) => void }[] = [];
  let batchesInFlight = 0;
  let itemsInFlight = 0;
  /** Cancels the scheduled flush; null when no flush is scheduled. */
  let cancel: (() => void) | null = null;
  /** Number of callers that just got a result and have not added their next item. */
  let expected = 0;
  let isLingering = false;

  /** Returns the maximum number of items of the next batch. */
  const share = () => {
    if (minConcurrentSize === undefined) return maxSize;
    return Math.min(maxSize, Math.max(minConcurrentSize(), Math.ceil((itemsInFlight + pending.length + expected) / maxConcurrent)));
  };

  const mayFlush = () => {
    if (pending.length === 0 || batchesInFlight >= maxConcurrent) return false;
    return batchesInFlight === 0 || minConcurrentSize === undefined || pending.length >= Math.max(minConcurrentSize(), LEAST_SHARE * share());
  };

  /** Returns the number of pending items that fit into the next batch: at least 1. */
  const nextSize = () => {
    let [size, bytes] = [0, 0];
    for (const { item } of pending.slice(0, share())) {
      bytes += bytesOf(item);
      if (size > 0 && bytes > maxBytes) break;
      size += 1;
    }
    return size;
  };

  // Flushes one turn of the event loop later, so that items read from the sockets in the same turn share a batch.
  const schedule = () => {
    if (!mayFlush()) return;
    const isComplete = lingerMs === 0 || expected === 0 || pending.length >= share();
    if (cancel !== null && !(isLingering && isComplete)) return;
    cancel?.();
    isLingering = !isComplete;
    if (isComplete) {
      const immediate = setImmediate(flushPending);
      cancel = () => clearImmediate(immediate);
    } else {
      const timer = setTimeout(() => {
        expected = 0;
        flushPending();
      }, lingerMs);
      cancel = () => clearTimeout(timer);
    }
  };

  const flushPending = () => {
    cancel = null;
    isLingering = false;
    while (mayFlush()) {
      const batch = pending.slice(0, nextSize());
      pending = pending.slice(batch.length);
      batchesInFlight += 1;
      itemsInFlight += batch.length;
      flush(batch.map((entry) => entry.item))
        .then(
          () => {
            for (const entry of batch) entry.resolve();
          },
          (error) => {
            for (const entry of batch) entry.reject(error);
          },
        )
        .finally(() => {
          batchesInFlight -= 1;
          itemsInFlight -= batch.length;
          expected = batch.length > 1 ? batch.length : 0;
          schedule();
        });
    }
  };

  return (item) =>
    new Promise((resolve, reject) => {
      pending.push({ item, resolve, reject });
      expected = Math.max(0, expected - 1);
      schedule();
    });
}
