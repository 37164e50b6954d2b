import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { gather } from '#lib/concurrency/gather.ts';

test('requests of one key and one turn share a run, and keys are independent', async () => {
  const runs: string[][] = [];
  const request = gather<string, string>(async (requests) => {
    runs.push([...requests]);
    return requests.join();
  });
  const first = [request('a', '1'), request('b', '2'), request('a', '3')];
  expect(await Promise.all(first)).toEqual(['1,3', '2', '1,3']);
  expect(await request('a', '4')).toBe('4');
  expect(runs).toEqual([['1', '3'], ['2'], ['4']]);
});

test('a run that never ends delays no later request', async () => {
  const request = gather<number, number>((requests) => (requests[0] === 0 ? new Promise<never>(() => {}) : Promise.resolve(requests.length)), 5);
  const stuck = request('a', 0);
  await sleep(10);
  expect(await Promise.all([request('a', 1), request('a', 2)])).toEqual([2, 2]);
  expect(await Promise.race([stuck, 'stuck'])).toBe('stuck');
});

test('a failure reaches each request of its run and no other', async () => {
  const request = gather<number, number>(async (requests) => {
    if (requests[0] === 1) throw new Error('broken');
    return requests.length;
  }, 5);
  const failed = await Promise.allSettled([request('a', 1), request('a', 2)]);
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await Promise.all([request('a', 3), request('a', 4)])).toEqual([2, 2]);
});
