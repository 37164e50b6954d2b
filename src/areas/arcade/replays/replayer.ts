import { InputLogError, readInputLog } from '#lib/replay/input-log.ts';
import { budgetOf, type ReplayLimits, type ReplayVerdict, runReplay } from '#lib/replay/run.ts';

/** Maximum number of compiled modules that a thread keeps. */
const MAX_MODULES = 16;

/** A replay to run. */
export interface ReplayTask {
  /** Hash of the simulation, hex. */
  readonly simulation: string;
  readonly seed: Uint8Array;
  readonly log: Uint8Array;
  readonly limits: ReplayLimits;
}

/**
 * Outcome of a replay. `malformed`: the bytes are not an input log. `exhausted`: this machine has too little memory, stack or time.
 */
export type ReplayOutcome = ReplayVerdict | { readonly malformed: string } | { readonly exhausted: string };

/** Outcome of a replay in a thread. `unfinished`: the replay needs more instructions than this thread may execute. */
export type ThreadOutcome = ReplayOutcome | { readonly unfinished: true };

/** Runs replays. An object of this class runs in a worker thread, so that a long replay does not delay the process. */
export class Replayer {
  readonly #modules = new Map<string, WebAssembly.Module>();

  has(simulation: string): boolean {
    return this.#modules.has(simulation);
  }

  add(simulation: string, module: Uint8Array<ArrayBuffer>): void {
    const oldest = this.#modules.keys().next();
    if (this.#modules.size >= MAX_MODULES && !oldest.done) this.#modules.delete(oldest.value);
    this.#modules.set(simulation, new WebAssembly.Module(module));
  }

  /**
   * Precondition: the thread has the module.
   * @param maxInstructions number of instructions after which the replay ends without a verdict
   */
  run({ simulation, seed, log, limits }: ReplayTask, maxInstructions: number): ThreadOutcome {
    const module = this.#modules.get(simulation);
    if (!module) throw new Error('the worker thread does not have the module of a replay');
    try {
      const spans = readInputLog(log);
      const budget = budgetOf(limits, spans);
      const verdict = runReplay(module, seed, spans, limits, Math.min(budget, maxInstructions));
      const isCut = budget > maxInstructions && 'refusal' in verdict && verdict.refusal === 'too_many_instructions';
      return isCut ? { unfinished: true } : verdict;
    } catch (error) {
      if (error instanceof InputLogError) return { malformed: error.message };
      if (error instanceof RangeError) return { exhausted: error.message };
      throw error;
    }
  }
}
