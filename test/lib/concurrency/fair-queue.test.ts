import { expect, test } from '@jest/globals';
import { FairQueue, type Place, PlaceRefused } from '#lib/concurrency/fair-queue.ts';

const CALLER = { running: 2, inFlight: 4 };
const open = (running = 3, inFlight = 8, waitMs = 60_000) => new FairQueue({ running, inFlight }, waitMs);

/** Takes a place, which the queue must grant. */
function enter(queue: FairQueue, caller: string, bounds = CALLER): Place {
  const place = queue.enter(caller, bounds);
  if (typeof place === 'string') throw new Error(`refused by ${place}`);
  return place;
}

/** Takes and starts places of the callers, in order. Returns the places, and the list of the callers whose places have started. */
function begin(queue: FairQueue, callers: string) {
  const started: string[] = [];
  const refused: string[] = [];
  const places = [...callers].map((caller) => {
    const place = enter(queue, caller);
    const wait = queue.start(place);
    if (wait === null) started.push(caller);
    else
      wait.then(
        () => started.push(caller),
        (error: unknown) => refused.push(`${caller} ${error instanceof PlaceRefused ? error.by : error}`),
      );
    return place;
  });
  return { places, started, refused, settled: async () => void (await new Promise(setImmediate)) };
}

test('a caller starts as many places at once as its bound allows, and the rest in order', async () => {
  const queue = open();
  const { places, started, settled } = begin(queue, 'aaaa');
  expect(started).toEqual(['a', 'a']);
  if (places[0]) queue.leave(places[0]);
  await settled();
  expect(started).toHaveLength(3);
});

test('a caller with too many places in flight is refused, and other callers are not', () => {
  const queue = open();
  begin(queue, 'aaaa');
  expect(queue.enter('a', CALLER)).toBe('caller');
  expect(queue.start(enter(queue, 'b'))).toBeNull();
});

test('a place that has not started counts as in flight and does not count as running', () => {
  const queue = open();
  for (let i = 0; i < 4; i++) enter(queue, 'a');
  expect(queue.enter('a', CALLER)).toBe('caller');
  expect(begin(queue, 'bbc').started).toEqual(['b', 'b', 'c']);
});

test('callers with waiting places take turns', async () => {
  const queue = open(1);
  const { places, started, settled } = begin(queue, 'aaaab');
  for (const i of [0, 1, 4, 2, 3]) {
    const place = places[i];
    if (place) queue.leave(place);
    await settled();
  }
  expect(started.join('')).toBe('aabaa');
  expect(queue.inFlight).toBe(0);
});

test('a full queue refuses the newest waiting place of the caller with the most waiting places', async () => {
  const queue = open(1, 6);
  const { refused, settled } = begin(queue, 'aaaabb');
  enter(queue, 'c');
  await settled();
  expect(refused).toEqual(['a total']);
});

test('a full queue refuses the caller that has the most places itself', () => {
  const queue = open(1, 5);
  begin(queue, 'aaabb');
  expect(queue.enter('a', CALLER)).toBe('total');
});

test('a place that waits too long is refused because of its caller when the caller runs as many places as it may', async () => {
  const queue = open(3, 8, 5);
  const { refused } = begin(queue, 'aaa');
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(refused).toEqual(['a caller']);
});

test('a place that waits too long is refused because of all callers when other callers use the queue', async () => {
  const queue = open(2, 8, 5);
  const { refused } = begin(queue, 'aab');
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(refused).toEqual(['b total']);
});

test('a place that leaves while it waits is skipped, and a place that leaves twice counts once', async () => {
  const queue = open(1);
  const { places, started, settled } = begin(queue, 'aab');
  for (const place of [places[1], places[1], places[0], places[0]]) if (place) queue.leave(place);
  await settled();
  expect(started.join('')).toBe('ab');
  expect(queue.inFlight).toBe(1);
});

test('random places never exceed the bounds, and all of them end', async () => {
  const queue = open(5, 30, 60_000);
  const running = new Map<string, number>();
  let [most, mostOfCaller, done, refused] = [0, 0, 0, 0];
  const work = async (caller: string) => {
    const place = queue.enter(caller, CALLER);
    if (typeof place === 'string') return void refused++;
    try {
      await queue.start(place);
      running.set(caller, (running.get(caller) ?? 0) + 1);
      most = Math.max(
        most,
        [...running.values()].reduce((a, b) => a + b, 0),
      );
      mostOfCaller = Math.max(mostOfCaller, ...running.values());
      await new Promise(setImmediate);
      running.set(caller, (running.get(caller) ?? 0) - 1);
      done++;
    } catch {
      refused++;
    } finally {
      queue.leave(place);
    }
  };
  for (let round = 0; round < 50; round++) {
    await Promise.all(Array.from({ length: 60 }, (_, i) => work(String.fromCharCode(97 + ((i * i + round) % 12)))));
  }
  expect([most, mostOfCaller, queue.inFlight, done + refused]).toEqual([5, 2, 0, 3_000]);
});
