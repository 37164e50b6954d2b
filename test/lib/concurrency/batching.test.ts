import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { batching } from '#lib/concurrency/batching.ts';

/** Records the batches of a `batching` function. Each batch ends when the test calls its `end` or `fail`. */
function recorded(options: Parameters<typeof batching<number>>[1]) {
  const batches: { items: number[]; end: () => void; fail: (error: Error) => void }[] = [];
  const add = batching<number>((items) => new Promise((resolve, reject) => batches.push({ items, end: resolve, fail: reject })), options);
  const itemsOf = () => batches.map(({ items }) => items);
  return { add, batches, itemsOf };
}

/** Waits until the flushes that are already due have started. */
const turns = async () => {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
};

test('items of one turn of the event loop share a batch, and the batch starts after that turn', async () => {
  const { add, batches, itemsOf } = recorded({ maxSize: 10, maxConcurrent: 1 });
  const results = [add(1), add(2)];
  await Promise.resolve();
  results.push(add(3));
  expect(itemsOf()).toEqual([]);
  await turns();
  expect(itemsOf()).toEqual([[1, 2, 3]]);
  batches[0]?.end();
  await Promise.all(results);
});

test('items that arrive while the maximum number of batches is in flight wait for the end of a batch', async () => {
  const { add, batches, itemsOf } = recorded({ maxSize: 2, maxConcurrent: 2 });
  const results = [1, 2, 3, 4, 5].map(add);
  await turns();
  expect(itemsOf()).toEqual([
    [1, 2],
    [3, 4],
  ]);
  results.push(add(6));
  await turns();
  expect(batches).toHaveLength(2);
  batches[1]?.end();
  await Promise.all(results.slice(2, 4));
  await turns();
  expect(itemsOf()[2]).toEqual([5, 6]);
  for (const { end } of batches) end();
  await Promise.all(results);
});

test('a batch has at most the given bytes, and a larger item is a batch of its own', async () => {
  const { add, batches, itemsOf } = recorded({ maxSize: 3, maxBytes: 10, bytesOf: (bytes) => bytes, maxConcurrent: 9 });
  const results = [4, 6, 1, 30, 2, 2, 2, 2].map(add);
  await turns();
  expect(itemsOf()).toEqual([[4, 6], [1], [30], [2, 2, 2], [2]]);
  for (const { end } of batches) end();
  await Promise.all(results);
});

test('a batch smaller than the minimum waits while another batch is in flight', async () => {
  const { add, batches, itemsOf } = recorded({ maxSize: 10, maxConcurrent: 2, minConcurrentSize: () => 3 });
  const results = [add(1)];
  await turns();
  results.push(add(2), add(3));
  await turns();
  expect(itemsOf()).toEqual([[1]]);
  results.push(add(4));
  await turns();
  expect(itemsOf()).toEqual([[1], [2, 3, 4]]);
  results.push(add(5));
  batches[1]?.end();
  await turns();
  // The first batch is still in flight.
  expect(batches).toHaveLength(2);
  batches[0]?.end();
  await turns();
  expect(itemsOf()[2]).toEqual([5]);
  batches[2]?.end();
  await Promise.all(results);
});

test('the minimum of a batch beside another one may change at any time', async () => {
  let minimum = 3;
  const { add, batches, itemsOf } = recorded({ maxSize: 10, maxConcurrent: 2, minConcurrentSize: () => minimum });
  const results = [add(1)];
  await turns();
  minimum = 2;
  results.push(add(2), add(3));
  await turns();
  expect(itemsOf()).toEqual([[1], [2, 3]]);
  minimum = 4;
  batches[1]?.end();
  results.push(add(4), add(5), add(6));
  await turns();
  expect(batches).toHaveLength(2);
  results.push(add(7));
  await turns();
  expect(itemsOf()[2]).toEqual([4, 5, 6, 7]);
  for (const { end } of batches) end();
  await Promise.all(results);
});

test('the batches in flight share the callers evenly', async () => {
  const { add, batches, itemsOf } = recorded({ maxSize: 100, maxConcurrent: 2, minConcurrentSize: () => 2 });
  const results = [1, 2, 3, 4, 5, 6, 7, 8].map(add);
  await turns();
  expect(itemsOf()).toEqual([
    [1, 2, 3, 4],
    [5, 6, 7, 8],
  ]);
  batches[0]?.end();
  await Promise.all(results.slice(0, 4));
  results.push(add(9), add(10));
  await turns();
  // The other two callers that just got results may come back, so the half of the callers is still four, and two are too few.
  expect(batches).toHaveLength(2);
  results.push(add(11));
  await turns();
  expect(itemsOf()[2]).toEqual([9, 10, 11]);
  for (const { end } of batches) end();
  await Promise.all(results);
});

test('callers that do not come back no longer count when another batch has ended', async () => {
  const { add, batches, itemsOf } = recorded({ maxSize: 100, maxConcurrent: 2, minConcurrentSize: () => 2 });
  const results = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12].map(add);
  await turns();
  batches[0]?.end();
  await Promise.all(results.slice(0, 6));
  results.push(add(13));
  batches[1]?.end();
  await Promise.all(results.slice(6, 12));
  await turns();
  expect(itemsOf()[2]).toEqual([13]);
  results.push(add(14), add(15));
  await turns();
  expect(batches).toHaveLength(3);
  results.push(add(16));
  await turns();
  // One caller is in flight, three are pending and three are expected.
  expect(itemsOf()[3]).toEqual([14, 15, 16]);
  for (const { end } of batches) end();
  await Promise.all(results);
});

test('a failed batch rejects each of its items and no others', async () => {
  const { add, batches } = recorded({ maxSize: 2, maxConcurrent: 2 });
  const results = [1, 2, 3].map(add);
  const settled = Promise.allSettled(results);
  await turns();
  batches[0]?.fail(new Error('down'));
  batches[1]?.end();
  expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
  const later = add(4);
  await turns();
  batches[2]?.end();
  await later;
});

test('after a batch of several items, the next batch waits for the items of the callers that just got results, at most for the configured delay', async () => {
  const { add, batches, itemsOf } = recorded({ maxSize: 10, maxConcurrent: 1, lingerMs: 60 });
  const results = [add(1)];
  await turns();
  batches[0]?.end();
  await results[0];
  results.push(add(2), add(3));
  await turns();
  // The batch before had one item, so there is no delay.
  expect(itemsOf()).toEqual([[1], [2, 3]]);
  results.push(add(4));
  batches[1]?.end();
  await Promise.all(results.slice(0, 3));
  results.push(add(5));
  await turns();
  // Two callers got results while one item was pending, so the next batch waits for three items.
  expect(batches).toHaveLength(2);
  results.push(add(6));
  await turns();
  expect(itemsOf()[2]).toEqual([4, 5, 6]);
  batches[2]?.end();
  await Promise.all(results);
  results.push(add(7));
  await turns();
  expect(batches).toHaveLength(3);
  await sleep(30);
  results.push(add(8));
  await sleep(60);
  expect(itemsOf()[3]).toEqual([7, 8]);
  batches[3]?.end();
  await Promise.all(results);
});

test('a batch that is as large as allowed does not wait for more items', async () => {
  const { add, batches, itemsOf } = recorded({ maxSize: 2, maxConcurrent: 1, lingerMs: 60_000 });
  const results = [1, 2, 3, 4].map(add);
  await turns();
  batches[0]?.end();
  await turns();
  expect(itemsOf()).toEqual([
    [1, 2],
    [3, 4],
  ]);
  batches[1]?.end();
  await Promise.all(results);
});
