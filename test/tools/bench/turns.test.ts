import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { GO, PASS, Turns } from '#tools/bench/comparison/turns.ts';

/** Starts a process that measures twice in turns, as a benchmark in a comparison does. */
const forkMeasuring = (): ChildProcess => fork('test/support/bench/measure-in-turns.ts', { silent: true, env: { ...process.env, BENCH_TURNS: '2' } });

/** Returns the steps that the process wrote. */
const stepsOf = async (child: ChildProcess) => (await text(child.stdout ?? Readable.from([]))).trim().split('\n');

/** Takes a turn `count` times, and writes the name of the side each time. */
async function side(turns: Turns, name: string, count: number, log: string[]): Promise<void> {
  for (let i = 0; i < count; i++) {
    await turns.take();
    log.push(name);
    await new Promise(setImmediate);
    turns.pass();
  }
}

test('two sides measure in turn, and the slower one goes on when the other one has ended', async () => {
  const [turns, log] = [new Turns(), [] as string[]];
  await Promise.all([side(turns, 'a', 2, log), side(turns, 'b', 4, log)]);
  expect(log).toEqual(['a', 'b', 'a', 'b', 'b', 'b']);
});

test('a side that asks for the turn waits until the other side passes it', async () => {
  const turns = new Turns();
  await turns.take();
  let hasTurn = false;
  const waiting = turns.take().then(() => {
    hasTurn = true;
  });
  await new Promise(setImmediate);
  expect(hasTurn).toBe(false);
  turns.pass();
  await waiting;
  turns.pass();
  await turns.take();
});

test('a benchmark process pauses its system between its turns, and ends by itself after the last one', async () => {
  const child = forkMeasuring();
  child.on('message', (message) => message === PASS && child.send(GO));
  const [ended, steps] = await Promise.all([once(child, 'exit'), stepsOf(child)]);
  expect(ended).toEqual([0, null]);
  expect(steps).toEqual(['measure', 'pause', 'resume', 'measure', 'pause', 'resume']);
});

test('a benchmark process that waits for its turn fails when the process of the comparison ends', async () => {
  const child = forkMeasuring();
  expect(await once(child, 'message')).toEqual([PASS, undefined]);
  child.disconnect();
  const [ended, steps] = await Promise.all([once(child, 'exit'), stepsOf(child)]);
  expect(ended).toEqual([1, null]);
  expect(steps).toEqual(['measure', 'pause', 'resume']);
});
