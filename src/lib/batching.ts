interface BatchingOptions {
  /** Maximum items per batch. */
  maxSize: number;
  /** Maximum batches in flight. */
  maxConcurrent: number;
  /**
   * Minimum items of a batch that starts while another batch is in flight. Choose the number of items whose own cost equals the fixed cost of one
   * flush.
   */
  minConcurrentSize?: number;
  /** Delay before the next batch, ms, after a batch of several items. In this time, callers that just got a result can add their next item. */
  lingerMs?: number;
}

/**
 * Collects the items that arrive while batches are in flight and flushes them as the next batch. Batches grow under load; a single item is flushed at
 * once.
 * @param flush function that processes one batch; when it rejects, the promise of every item of the batch rejects
 */
export function batching<Item>(
  flush: (items: Item[]) => Promise<void>,
  { maxSize, maxConcurrent, minConcurrentSize = 1, lingerMs = 0 }: BatchingOptions,
): (item: Item) => Promise<void> {
  let pending: { item: Item; resolve: () => void; reject: (error: unknown) => void }[] = [];
  let inFlight = 0;
  let scheduled = false;
  let lastSize = 0;

  const mayFlush = () => pending.length > 0 && (inFlight === 0 || (inFlight < maxConcurrent && pending.length >= minConcurrentSize));

  // Flushes one turn of the event loop later, so that items read from the sockets in the same turn share a batch.
  const schedule = () => {
    if (scheduled || !mayFlush()) return;
    scheduled = true;
    if (lingerMs > 0 && lastSize > 1 && pending.length < lastSize) setTimeout(flushPending, lingerMs);
    else setImmediate(flushPending);
  };

  const flushPending = () => {
    scheduled = false;
    while (mayFlush()) {
      const batch = pending.slice(0, maxSize);
      pending = pending.slice(maxSize);
      inFlight++;
      lastSize = batch.length;
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
