/** How batches are made. */
export interface BatchingOptions {
  /** Items in a batch. */
  most: number;
  /** Batches under way at once. */
  flights: number;
  /** How full a batch has to be to leave while another one is under way; a batch costs about as much as this many items. */
  least?: number;
  /** After a batch of several, the next one waits this long for those who were just answered to come again, ms. */
  lingerMs?: number;
}

/**
 * Puts what arrives while earlier batches are on their way into the next one: under load batches grow by themselves,
 * and a lone item goes at once.
 * @param flush does a batch; when it rejects, all of the batch's items reject
 */
export function batching<Item>(
  flush: (items: Item[]) => Promise<void>,
  { most, flights, least = 1, lingerMs = 0 }: BatchingOptions,
): (item: Item) => Promise<void> {
  let waiting: { item: Item; resolve: () => void; reject: (error: unknown) => void }[] = [];
  let flying = 0;
  let scheduled = false;
  let lately = 0;

  const mayLeave = () => waiting.length > 0 && (flying === 0 || (flying < flights && waiting.length >= least));

  // One turn of the event loop later, so that what was read from the sockets together leaves together.
  const schedule = () => {
    if (scheduled || !mayLeave()) return;
    scheduled = true;
    if (lingerMs > 0 && lately > 1 && waiting.length < lately) setTimeout(depart, lingerMs);
    else setImmediate(depart);
  };

  const depart = () => {
    scheduled = false;
    while (mayLeave()) {
      const batch = waiting.slice(0, most);
      waiting = waiting.slice(most);
      flying++;
      lately = batch.length;
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
          flying--;
          schedule();
        });
    }
  };

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      schedule();
    });
}
