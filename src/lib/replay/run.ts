import type { InputSpan } from './input-log.ts';
import { OUT_OF_MEMORY } from './metering.ts';
import { FUEL_EXPORT } from './simulation.ts';

/** Limits of one replay. They count ticks and instructions, so each machine gives the same verdict. */
export interface ReplayLimits {
  readonly maxTicks: number;
  /** Instructions that the whole replay may execute on average per tick. `start` may execute as many as 1,000 ticks. */
  readonly instructionsPerTick: number;
}

/** The result of a replay that follows the rules. */
export interface ReplayResult {
  readonly score: number;
  readonly ticks: number;
  /** Whether the game itself ended. A player can also end a play early. */
  readonly isOver: boolean;
}

/** Why a replay has no score. The same log always gives the same refusal. */
export type ReplayRefusal =
  /** The log has more ticks than the game allows. */
  | 'too_many_ticks'
  /** The log continues after the end of the game. */
  | 'continues_after_end'
  | 'too_many_instructions'
  /** The simulation executed an invalid operation. */
  | 'trap'
  /** The score is negative or above 2^53 − 1. */
  | 'invalid_score';

export type ReplayVerdict = { readonly result: ReplayResult } | { readonly refusal: ReplayRefusal };

/** Number of ticks whose instructions `start` may execute. */
const START_TICKS = 1_000;

const ticksOf = (log: readonly InputSpan[]): number => log.reduce((sum, { ticks }) => sum + ticks, 0);

/** Returns the number of instructions that a replay may execute. */
export const budgetOf = ({ instructionsPerTick }: ReplayLimits, log: readonly InputSpan[]): number =>
  instructionsPerTick * (START_TICKS + ticksOf(log));

/**
 * Runs a metered simulation with a seed and the inputs of a play.
 * @param seed 16 bytes; `start` receives them as four little-endian 32-bit integers
 * @param budget the number of instructions that the replay may execute; a smaller number than the default can give another verdict
 * @throws RangeError when this machine has too little memory or stack for the simulation; another machine may give a verdict
 */
export function runReplay(
  module: WebAssembly.Module,
  seed: Uint8Array,
  log: readonly InputSpan[],
  limits: ReplayLimits,
  budget = budgetOf(limits, log),
): ReplayVerdict {
  const total = ticksOf(log);
  if (total > limits.maxTicks) return { refusal: 'too_many_ticks' };
  const { start, tick, score, fuel } = readExports(new WebAssembly.Instance(module));
  fuel.value = BigInt(budget);
  try {
    const words = new DataView(seed.buffer, seed.byteOffset, 16);
    start(words.getInt32(0, true), words.getInt32(4, true), words.getInt32(8, true), words.getInt32(12, true));
    let isOver = false;
    for (const { ticks, input } of log) {
      for (let i = 0; i < ticks; i += 1) {
        if (isOver) return { refusal: 'continues_after_end' };
        isOver = tick(input) !== 0;
      }
    }
    const value = Number(score());
    if (fuel.value < 0n) return { refusal: 'too_many_instructions' };
    if (value < 0 || !Number.isSafeInteger(value)) return { refusal: 'invalid_score' };
    return { result: { score: value, ticks: total, isOver } };
  } catch (error) {
    if (!(error instanceof WebAssembly.RuntimeError)) throw error;
    if (fuel.value === OUT_OF_MEMORY) throw new RangeError('the machine has too little memory for the simulation');
    return { refusal: fuel.value < 0n ? 'too_many_instructions' : 'trap' };
  }
}

interface SimulationExports {
  readonly start: (a: number, b: number, c: number, d: number) => void;
  readonly tick: (input: number) => number;
  readonly score: () => bigint;
  readonly fuel: WebAssembly.Global;
}

/** @throws Error for a module that `meterSimulation` did not make */
function readExports({ exports }: WebAssembly.Instance): SimulationExports {
  const { start, tick, score, [FUEL_EXPORT]: fuel } = exports;
  if (typeof start !== 'function' || typeof tick !== 'function' || typeof score !== 'function' || !(fuel instanceof WebAssembly.Global)) {
    throw new Error('the module is not a metered simulation');
  }
  return { start, tick, score, fuel } as SimulationExports;
}
