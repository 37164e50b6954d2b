interface BatchingOptions<Item> {
  /** Maximum items per batch. */
  maxSize: number;
  /** Maximum bytes of a batch of several items. An item with more bytes is a batch of its own. */
  maxBytes?: number;
  bytesOf?: (item: Item) => number;
  /** Maximum batches in flight. */
  maxConcurrent: number;
  /**
   * Minimum items of a batch that starts while another batch is in flight. Choose the number of items whose own cost equals the fixed cost of one
   * flush.
   */
  minConcurrentSize?: number;
  /**
   * Maximum delay before the next batch, ms, after a batch of several items. In this time, callers that just got a result can add their next item.
   * The next batch starts earlier when it has as many items as the batch before and the items that were pending at the end of that batch together.
   */
  lingerMs?: number;
}

/**
 * Collects the items that arrive while batches are in flight and flushes them as the next batch. Batches grow under load; a single item is flushed at
 * once.
 * @param flush function that processes one batch; when it rejects, the promise of every item of the batch rejects
 */
export function batching<Item>(
  flush: (items: Item[]) => Promise<void>,
  { maxSize, maxBytes = Number.POSITIVE_INFINITY, bytesOf = () => 0, maxConcurrent, minConcurrentSize = 1, lingerMs = 0 }: BatchingOptions<Item>,
): (item: Item) => Promise<void> {
  let pending: { item: Item; resolve: () => void; reject: (error: unknown) => void }[] = [];
  let inFlight = 0;
  /** Cancels the scheduled flush; null when no flush is scheduled. */
  let cancel: (() => void) | null = null;
  /** Number of items that the next batch waits for, at most `lingerMs`. */
  let expected = 0;
  let isLingering = false;

  const mayFlush = () => pending.length > 0 && (inFlight === 0 || (inFlight < maxConcurrent && pending.length >= minConcurrentSize));

  /** Returns the number of pending items that fit into the next batch: at least 1. */
  const nextSize = () => {
    let [size, bytes] = [0, 0];
    for (const { item } of pending.slice(0, maxSize)) {
      bytes += bytesOf(item);
      if (size > 0 && bytes > maxBytes) break;
      size += 1;
    }
    return size;
  };

  // Flushes one turn of the event loop later, so that items read from the sockets in the same turn share a batch.
  const schedule = () => {
    if (!mayFlush()) return;
    const isComplete = lingerMs === 0 || pending.length >= Math.min(expected, maxSize);
    if (cancel !== null && !(isLingering && isComplete)) return;
    cancel?.();
    isLingering = !isComplete;
    if (isComplete) {
      const immediate = setImmediate(flushPending);
      cancel = () => clearImmediate(immediate);
    } else {
      const timer = setTimeout(flushPending, lingerMs);
      cancel = () => clearTimeout(timer);
    }
  };

  const flushPending = () => {
    cancel = null;
    isLingering = false;
    while (mayFlush()) {
      const batch = pending.slice(0, nextSize());
      pending = pending.slice(batch.length);
      inFlight++;
      expected = 0;
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
          inFlight--;
          expected = batch.length > 1 ? batch.length + pending.length : 0;
          schedule();
        });
    }
  };

  return (item) =>
    new Promise((resolve, reject) => {
      pending.push({ item, resolve, reject });
      schedule();
    });
}
