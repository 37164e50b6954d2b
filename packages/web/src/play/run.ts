import { writeInputLog } from '../../../../src/lib/replay/input-log.ts';
import { base64 } from '../../../client/src/encoding.ts';

export const COLUMNS = 10;
export const ROWS = 20;

/** The exports of the simulation of Block Cascade. `start`, `tick` and `score` are those of every game; the others are for drawing. */
interface GameExports {
  start(a: number, b: number, c: number, d: number): void;
  tick(input: number): number;
  score(): bigint;
  draw(): number;
  next(): number;
  lines(): number;
  level(): number;
  readonly memory: { readonly buffer: ArrayBuffer };
}

/** The numbers that a player sees. */
export interface Standings {
  readonly score: number;
  readonly lines: number;
  readonly level: number;
  /** Kind of the next piece, 0 to 6. */
  readonly next: number;
  readonly secondsLeft: number;
}

/** One run of Block Cascade: the simulation, and the input of each tick so far. */
export class Run {
  readonly #game: GameExports;
  readonly #limits: { readonly ticksPerSecond: number; readonly maxTicks: number };
  readonly #inputs: number[] = [];
  #isOver = false;

  /**
   * @param module the simulation that the play names
   * @param seed the seed of the play: 16 bytes, hex
   */
  constructor(module: WebAssembly.Module, seed: string, limits: { readonly ticksPerSecond: number; readonly maxTicks: number }) {
    // TypeScript does not know the exports of a module. The play names the hash of this one, and the arcade refuses a simulation without these functions.
    this.#game = new WebAssembly.Instance(module).exports as unknown as GameExports;
    this.#limits = limits;
    const bytes = Uint8Array.from(seed.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
    const words = new DataView(bytes.buffer);
    this.#game.start(words.getInt32(0, true), words.getInt32(4, true), words.getInt32(8, true), words.getInt32(12, true));
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /**
   * Computes the ticks that are due since the last call.
   * @param elapsedMs time since the start of the run, ms
   * @param nextInput returns the input of a tick
   */
  advance(elapsedMs: number, nextInput: () => number): void {
    const { ticksPerSecond, maxTicks } = this.#limits;
    const due = Math.min(maxTicks, Math.floor((elapsedMs * ticksPerSecond) / 1_000));
    while (!this.#isOver && this.#inputs.length < due) {
      const input = nextInput();
      this.#inputs.push(input);
      this.#isOver = this.#game.tick(input) !== 0 || this.#inputs.length === maxTicks;
    }
  }

  /** Ends the run before the game ends. The score so far counts. */
  stop(): void {
    this.#isOver = true;
  }

  /** The cells of the board with the falling piece, row by row from the top: 0 is empty, otherwise the kind of the piece plus 1. */
  get cells(): Uint8Array {
    const at = this.#game.draw();
    return new Uint8Array(this.#game.memory.buffer, at, COLUMNS * ROWS);
  }

  get standings(): Standings {
    const { ticksPerSecond, maxTicks } = this.#limits;
    const secondsLeft = Math.ceil((maxTicks - this.#inputs.length) / ticksPerSecond);
    return { score: Number(this.#game.score()), lines: this.#game.lines(), level: this.#game.level(), next: this.#game.next(), secondsLeft };
  }

  /** The score and its proof: the input log, base64. */
  get result(): { readonly score: number; readonly replay: string } {
    return { score: Number(this.#game.score()), replay: base64(writeInputLog(this.#inputs)) };
  }
}
