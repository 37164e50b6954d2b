import { setTimeout as sleep } from 'node:timers/promises';
import type { App } from '#platform/app.ts';
import { openThread, type Thread } from '#platform/threads/worker-thread.ts';
import type { Replayer, ReplayTask, ThreadOutcome } from './replayer.ts';
import { loadSimulation } from './simulations.ts';

/** Maximum duration of a replay on this machine, ms. A replay that takes longer is held, because another machine may be quicker. */
const REPLAY_TIMEOUT_MS = 2_000;

/** Runs replays in a worker thread, one at a time, in the order of their submission. */
export class ReplayThread {
  readonly #app: App;
  #thread: Thread<Replayer> | null = null;
  #last: Promise<unknown> = Promise.resolve();

  constructor(app: App) {
    this.#app = app;
  }

  /**
   * Waits for the earlier replays, and runs a replay.
   * @param maxInstructions number of instructions after which the replay ends without a verdict
   */
  run(task: ReplayTask, maxInstructions: number): Promise<ThreadOutcome> {
    const outcome = this.#last.then(() => this.#runNext(task, maxInstructions));
    this.#last = outcome.catch(() => undefined);
    return outcome;
  }

  async #runNext(task: ReplayTask, maxInstructions: number): Promise<ThreadOutcome> {
    const timer = new AbortController();
    try {
      const { remote } = this.#open();
      if (!(await remote.has(task.simulation))) {
        const simulation = await loadSimulation(this.#app, task.simulation);
        if (!simulation) throw new Error('the simulation of a play is missing');
        await remote.add(task.simulation, new Uint8Array(simulation.module));
      }
      // The time that the thread needs to start and to load the module does not count.
      const timeout = sleep(REPLAY_TIMEOUT_MS, null, { signal: timer.signal });
      timeout.catch(() => undefined);
      const outcome = await Promise.race([remote.run(task, maxInstructions), timeout]);
      if (outcome) return outcome;
      await this.close();
      return { exhausted: `the replay took longer than ${REPLAY_TIMEOUT_MS} ms` };
    } catch (error) {
      await this.close();
      throw error;
    } finally {
      timer.abort();
    }
  }

  /** Starts the thread if it does not run. */
  #open(): Thread<Replayer> {
    this.#thread ??= openThread<Replayer>(new URL('./thread.ts', import.meta.url));
    return this.#thread;
  }

  /** Ends the thread and the replay that it runs. The next replay starts a new thread. */
  async close(): Promise<void> {
    const thread = this.#thread;
    this.#thread = null;
    await thread?.close();
  }
}
