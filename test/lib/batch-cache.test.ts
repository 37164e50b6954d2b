import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { batchCache } from '#lib/batch-cache.ts';

const open = (load: (items: readonly string[]) => Promise<readonly string[]>, maxAgeMs = 60_000, maxValues = 100) =>
  batchCache<string, string>({ keyOf: (item) => item, maxAgeMs, maxValues }, load);

test('the missing values of a call are loaded in one batch, and concurrent calls share the load of an item', async () => {
  const loads: string[] = [];
  const read = open(async (items) => {
    loads.push(items.join());
    await sleep(1);
    return items.map((item) => item.toUpperCase());
  });
  expect(await Promise.all([read(['a', 'b', 'a']), read(['b', 'c'])])).toEqual([
    ['A', 'B', 'A'],
    ['B', 'C'],
  ]);
  expect(await read(['c', 'd', 'a'])).toEqual(['C', 'D', 'A']);
  expect(await read([])).toEqual([]);
  expect(loads).toEqual(['a,b', 'c', 'd']);
});

test('a value is loaded again after its maximum age, and only this value', async () => {
  let loads = 0;
  const read = open(async (items) => items.map((item) => `${item}${++loads}`), 40);
  expect(await read(['a'])).toEqual(['a1']);
  await sleep(60);
  expect(await read(['b'])).toEqual(['b2']);
  expect(await read(['a', 'b'])).toEqual(['a3', 'b2']);
});

test('while loads fail, expired values are returned, and a call that needs another value fails', async () => {
  let fails = false;
  const read = open(async (items) => {
    if (fails) throw new Error('down');
    return [...items];
  }, 10);
  expect(await read(['a'])).toEqual(['a']);
  fails = true;
  await sleep(20);
  expect(await read(['a'])).toEqual(['a']);
  await expect(read(['a', 'b'])).rejects.toThrow('down');
  fails = false;
  expect(await read(['a', 'b'])).toEqual(['a', 'b']);
});

test('a full cache evicts the values that were loaded first, and a call may have more items than the cache', async () => {
  const loads: string[] = [];
  const read = open(
    async (items) => {
      loads.push(items.join());
      return [...items];
    },
    60_000,
    2,
  );
  expect(await read(['a', 'b', 'c'])).toEqual(['a', 'b', 'c']);
  await read(['c', 'b']);
  await read(['a', 'c']);
  expect(loads).toEqual(['a,b,c', 'a']);
});
