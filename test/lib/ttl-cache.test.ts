import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { ttlCache } from '#lib/ttl-cache.ts';

test('a value is loaded once per key until its maximum age, also for concurrent requests', async () => {
  const counted = (maxAgeMs: number) => {
    const loads: string[] = [];
    return ttlCache(maxAgeMs, async (key: string) => {
      await sleep(1);
      return `${key} ${loads.push(key)}`;
    });
  };
  const young = counted(60_000);
  expect(await Promise.all([young.get('a'), young.get('a'), young.get('b')])).toEqual(['a 1', 'a 1', 'b 2']);
  expect(await young.get('a')).toBe('a 1');
  const old = counted(10);
  expect(await old.get('a')).toBe('a 1');
  await sleep(20);
  expect(await old.get('a')).toBe('a 2');
});

test('a deleted key is loaded again', async () => {
  let loads = 0;
  const cache = ttlCache(60_000, async () => ++loads);
  expect(await cache.get('a')).toBe(1);
  cache.delete('a');
  expect(await cache.get('a')).toBe(2);
  expect(await cache.get('a')).toBe(2);
});

test('a failed load is not cached, and its late failure does not remove a newer value', async () => {
  const gates = [Promise.withResolvers<number>(), Promise.withResolvers<number>()];
  let loads = 0;
  const cache = ttlCache(60_000, async () => await (gates[loads++]?.promise ?? 3));
  const first = cache.get('a');
  const failed = expect(first).rejects.toThrow('down');
  cache.delete('a');
  const second = cache.get('a');
  gates[0]?.reject(new Error('down'));
  await failed;
  gates[1]?.resolve(2);
  expect(await second).toBe(2);
  expect(await cache.get('a')).toBe(2);

  const retried = ttlCache(60_000, async () => {
    if (++loads === 3) throw new Error('down');
    return loads;
  });
  await expect(retried.get('b')).rejects.toThrow('down');
  expect(await retried.get('b')).toBe(4);
});
