import { expect, test } from '@jest/globals';
import { Turns } from '#tools/bench/comparison/turns.ts';

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
