/**
 * Puts what arrives while earlier batches are on their way into the next one: under load batches grow by themselves,
 * and a lone item goes at once.
 * @param flush does a batch; when it rejects, all of the batch's items reject
 * @param most items in a batch
 * @param flights batches under way at once
 */
export function batching<Item>(
  flush: (items: Item[]) => Promise<void>,
  { most, flights }: { most: number; flights: number },
): (item: Item) => Promise<void> {
  let waiting: { item: Item; resolve: () => void; reject: (error: unknown) => void }[] = [];
  let flying = 0;
  let scheduled = false;

  const depart = () => {
    scheduled = false;
    while (waiting.length > 0 && flying < flights) {
      const batch = waiting.slice(0, most);
      waiting = waiting.slice(most);
      flying++;
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
          depart();
        });
    }
  };

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      // One turn of the event loop, so that what was read from the sockets together leaves together.
      if (!scheduled && flying < flights) {
        scheduled = true;
        setImmediate(depart);
      }
    });
}
