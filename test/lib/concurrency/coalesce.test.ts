import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { coalesce } from '#lib/concurrency/coalesce.ts';

test('a result is never older than its request, and one run serves all requests that waited for it', async () => {
  let written = 0;
  let runs = 0;
  const request = coalesce<number, number>(async () => {
    runs++;
    const seen = written;
    await sleep(5);
    return seen;
  });
  const checks: Promise<void>[] = [];
  for (let i = 0; i < 200; i++) {
    const acknowledged = ++written;
    checks.push(request('page', i).then((seen) => expect(seen).toBeGreaterThanOrEqual(acknowledged)));
    if (i % 10 === 0) await sleep(1);
  }
  await Promise.all(checks);
  expect(runs).toBeLessThan(30);
});

test('a run gets all requests that waited for it, and keys are independent', async () => {
  const gate = Promise.withResolvers<void>();
  const runs: string[][] = [];
  const request = coalesce<string, string>(async (requests) => {
    runs.push([...requests]);
    if (requests[0].startsWith('slow')) await gate.promise;
    return requests.join();
  });
  const first = request('slow', 'slow 1');
  await sleep(1);
  const second = request('slow', 'slow 2');
  const third = request('slow', 'slow 3');
  expect(await request('fast', 'fast 1')).toBe('fast 1');
  gate.resolve();
  expect(await Promise.all([first, second, third])).toEqual(['slow 1', 'slow 2,slow 3', 'slow 2,slow 3']);
  expect(runs).toHaveLength(3);
});

test('requests of one turn of the event loop share a run, also after an earlier run has ended', async () => {
  let runs = 0;
  const request = coalesce<number, string>(async (requests) => `run ${++runs}: ${requests.join()}`);
  const inOneTurn = async () => {
    const first = request('a', 1);
    await Promise.resolve();
    return await Promise.all([first, request('a', 2)]);
  };
  expect(await inOneTurn()).toEqual(['run 1: 1,2', 'run 1: 1,2']);
  await sleep(1);
  expect(await inOneTurn()).toEqual(['run 2: 1,2', 'run 2: 1,2']);
});

test('a failed run rejects only its own requests', async () => {
  let runs = 0;
  const request = coalesce<null, string>(async () => {
    if (++runs === 1) throw new Error('down');
    return 'up';
  });
  const first = request('a', null);
  const failed = expect(first).rejects.toThrow('down');
  await new Promise((resolve) => setImmediate(resolve));
  const second = request('a', null);
  await failed;
  expect(await second).toBe('up');
  expect(await request('a', null)).toBe('up');
});

test('requests beyond the maximum per run are rejected with 503', async () => {
  const request = coalesce<null, number>(async (requests) => requests.length, { maxPerRun: 2 });
  const taken = [request('a', null), request('a', null)];
  expect(() => request('a', null)).toThrow('too many');
  expect(await Promise.all(taken)).toEqual([2, 2]);
});

test('requests are collected while no run is in flight, and the requests that wait for a run begin when it ends', async () => {
  const gate = Promise.withResolvers<void>();
  const runs: number[][] = [];
  const request = coalesce<number, void>(
    async (requests) => {
      runs.push([...requests]);
      if (requests[0] === 1) await gate.promise;
    },
    { collectMs: 5 },
  );
  const first = request('a', 1);
  await sleep(1);
  const second = request('a', 2);
  await sleep(20);
  expect(runs).toEqual([[1, 2]]);
  const third = request('a', 3);
  await sleep(20);
  expect(runs).toHaveLength(1);
  gate.resolve();
  await Promise.all([first, second, third]);
  expect(runs).toEqual([[1, 2], [3]]);
});
