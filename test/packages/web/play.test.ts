import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { readInputLog } from '#lib/replay/input-log.ts';
import { runReplay } from '#lib/replay/run.ts';
import { meterSimulation } from '#lib/replay/simulation.ts';
import { BUTTONS, HeldButtons } from '#packages/web/src/play/buttons.ts';
import { boardText, standingsText } from '#packages/web/src/play/narrate.ts';
import { Run } from '#packages/web/src/play/run.ts';

const module = new WebAssembly.Module(meterSimulation(new Uint8Array(readFileSync('games/block-cascade/block-cascade.wasm'))));
const SEED = '000102030405060708090a0b0c0d0e0f';
const LIMITS = { ticksPerSecond: 60, maxTicks: 10_800 };

/** Computes the score of a run again, as a worker of the arcade does. */
const replayOf = (run: Run) =>
  runReplay(module, Buffer.from(SEED, 'hex'), readInputLog(Buffer.from(run.result.replay, 'base64')), { ...LIMITS, instructionsPerTick: 50_000 });

test('each press and release reaches one tick, also when several happen between two ticks', () => {
  const held = new HeldButtons();
  held.press('left');
  held.release('left');
  held.press('left');
  held.press('rotate');
  expect([1, 2, 3, 4, 5].map(() => held.next())).toEqual([
    BUTTONS.left,
    0,
    BUTTONS.left,
    BUTTONS.left | BUTTONS.rotate,
    BUTTONS.left | BUTTONS.rotate,
  ]);
});

test('a repeated key press changes nothing, and a lost focus releases all buttons', () => {
  const held = new HeldButtons();
  held.press('softDrop');
  held.press('softDrop');
  expect([held.next(), held.next()]).toEqual([BUTTONS.softDrop, BUTTONS.softDrop]);
  held.releaseAll();
  expect([held.next(), held.next()]).toEqual([0, 0]);
});

test('a flood of key changes between two ticks is bounded and ends with the buttons that are held', () => {
  const held = new HeldButtons();
  for (let i = 0; i < 500; i++) i % 2 === 0 ? held.press('left') : held.release('left');
  held.press('right');
  const inputs = Array.from({ length: 40 }, () => held.next());
  expect(inputs.at(-1)).toBe(BUTTONS.right);
});

test('the score and the inputs of a run are those that the arcade computes again', () => {
  const run = new Run(module, SEED, LIMITS);
  const held = new HeldButtons();
  for (let second = 1; second <= 8; second++) {
    held.press(second % 3 === 0 ? 'left' : 'right');
    held.press('hardDrop');
    run.advance(second * 1_000, () => held.next());
    held.releaseAll();
  }
  run.stop();
  expect(run.result.score).toBeGreaterThan(0);
  expect(replayOf(run)).toMatchObject({ result: { score: run.result.score, ticks: 480 } });
});

test('a run computes the ticks that are due, in one step or in many, and no tick after its end', () => {
  const [once, often] = [new Run(module, SEED, LIMITS), new Run(module, SEED, LIMITS)];
  once.advance(5_000, () => 0);
  for (let ms = 0; ms <= 5_000; ms += 7) often.advance(ms, () => 0);
  often.advance(5_000, () => 0);
  expect(often.result).toEqual(once.result);
  expect(often.cells).toEqual(once.cells);
  once.advance(3_600_000, () => 0);
  expect(once.isOver).toBe(true);
  const { result } = once;
  once.advance(7_200_000, () => BUTTONS.hardDrop);
  expect(once.result).toEqual(result);
  expect(replayOf(once)).toMatchObject({ result: { score: result.score } });
});

test('a run that the player ends at once has the score 0 and no tick', () => {
  const run = new Run(module, SEED, LIMITS);
  run.stop();
  run.advance(1_000, () => BUTTONS.hardDrop);
  expect(replayOf(run)).toMatchObject({ result: { score: 0, ticks: 0 } });
});

test('a screen reader hears the score and the height of each column', () => {
  const cells = new Uint8Array(200);
  cells[190] = 1;
  cells[181] = 2;
  cells[9] = 3;
  expect(boardText(cells)).toBe('Highest filled cell of each column from the left: 1, 2, 0, 0, 0, 0, 0, 0, 0, 20.');
  expect(standingsText({ score: 120, lines: 1, level: 1, next: 5, secondsLeft: 90 })).toBe(
    'Score 120, 1 line, level 1. Next piece T. 90 seconds left.',
  );
});
