import { writeInputLog } from '#lib/replay/input-log.ts';

/** Buttons of the game, as bits of an input (simulation.ts). */
const BUTTONS = { left: 1, right: 2, rotate: 4, hardDrop: 16 } as const;

/** A finished play of a bot. */
export interface BotPlay {
  readonly score: number;
  readonly ticks: number;
  readonly log: Uint8Array;
}

interface GameExports {
  start(a: number, b: number, c: number, d: number): void;
  tick(input: number): number;
  score(): bigint;
}

/**
 * Plays a game of Block Cascade with random moves, until the game ends or `maxTicks` is reached.
 * @param module the simulation, with or without metering
 * @param seed 16 bytes
 * @param random returns a number from 0 to below 1; the same numbers give the same play
 * @param idleTicks ticks without input before each move; more of them make a longer play
 */
export function playAsBot(
  module: WebAssembly.Module,
  seed: Uint8Array,
  { random = Math.random, idleTicks = 0, maxTicks = 10_800 }: { random?: () => number; idleTicks?: number; maxTicks?: number } = {},
): BotPlay {
  // TypeScript does not know the exports of a module. docs/replays.md defines these three, and the service refuses a simulation without them.
  const game = new WebAssembly.Instance(module).exports as unknown as GameExports;
  const words = new DataView(seed.buffer, seed.byteOffset, 16);
  game.start(words.getInt32(0, true), words.getInt32(4, true), words.getInt32(8, true), words.getInt32(12, true));
  const inputs: number[] = [];
  let isOver = false;
  const press = (input: number) => {
    if (isOver || inputs.length >= maxTicks) return;
    inputs.push(input);
    isOver = game.tick(input) !== 0;
  };
  while (!isOver && inputs.length < maxTicks) {
    for (let i = 0; i < idleTicks; i += 1) press(0);
    for (let i = Math.floor(random() * 4); i > 0; i -= 1) pressAndRelease(press, BUTTONS.rotate);
    const side = random() < 0.5 ? BUTTONS.left : BUTTONS.right;
    for (let i = Math.floor(random() * 6); i > 0; i -= 1) pressAndRelease(press, side);
    pressAndRelease(press, BUTTONS.hardDrop);
  }
  return { score: Number(game.score()), ticks: inputs.length, log: writeInputLog(inputs) };
}

function pressAndRelease(press: (input: number) => void, button: number): void {
  press(button);
  press(0);
}
