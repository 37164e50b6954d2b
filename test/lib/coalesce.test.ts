import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { coalesce } from '#lib/coalesce.ts';

test('an answer is never older than its question, and one run answers all who asked meanwhile', async () => {
  let written = 0;
  let runs = 0;
  const ask = coalesce<number, number>(async () => {
    runs++;
    const seen = written;
    await sleep(5);
    return seen;
  });
  const checks: Promise<void>[] = [];
  for (let i = 0; i < 200; i++) {
    const acknowledged = ++written;
    checks.push(ask('page', i).then((seen) => expect(seen).toBeGreaterThanOrEqual(acknowledged)));
    if (i % 10 === 0) await sleep(1);
  }
  await Promise.all(checks);
  expect(runs).toBeLessThan(30);
});

test('a run gets the asks of its turn, and keys do not wait for one another', async () => {
  const gate = Promise.withResolvers<void>();
  const runs: string[][] = [];
  const ask = coalesce<string, string>(async (asks) => {
    runs.push([...asks]);
    if (asks[0].startsWith('slow')) await gate.promise;
    return asks.join();
  });
  const first = ask('slow', 'slow 1');
  await sleep(1);
  const second = ask('slow', 'slow 2');
  const third = ask('slow', 'slow 3');
  expect(await ask('fast', 'fast 1')).toBe('fast 1');
  gate.resolve();
  expect(await Promise.all([first, second, third])).toEqual(['slow 1', 'slow 2,slow 3', 'slow 2,slow 3']);
  expect(runs).toHaveLength(3);
});

test('a run that fails fails its own askers alone', async () => {
  let runs = 0;
  const ask = coalesce<null, string>(async () => {
    if (++runs === 1) throw new Error('down');
    return 'up';
  });
  const first = ask('a', null);
  const failed = expect(first).rejects.toThrow('down');
  await new Promise((resolve) => setImmediate(resolve));
  const second = ask('a', null);
  await failed;
  expect(await second).toBe('up');
  expect(await ask('a', null)).toBe('up');
});

test('a turn takes no more than its most asks', async () => {
  const ask = coalesce<null, number>(async (asks) => asks.length, 2);
  const taken = [ask('a', null), ask('a', null)];
  expect(() => ask('a', null)).toThrow('too many');
  expect(await Promise.all(taken)).toEqual([2, 2]);
});
