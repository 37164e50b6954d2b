import { createHash } from 'node:crypto';
import { type App, perApp } from '#platform/app.ts';
import { ReplayThread } from './replay-thread.ts';
import type { ReplayOutcome, ReplayTask } from './replayer.ts';

/** Number of instructions after which a replay moves to the thread of slow replays. They take about 100 ms; three minutes of Block Cascade take 10 million. */
const QUICK_INSTRUCTIONS = 30_000_000;

/** Maximum replays that run or wait in the thread of slow replays. */
const MAX_SLOW = 4;

/** A replay and the wallet that submitted it. */
export interface WalletTask extends ReplayTask {
  readonly wallet: string;
}

/**
 * Runs replays in two worker threads. Each replay first runs in the thread of quick replays. A replay that needs many instructions starts again in the thread
 * of slow replays, so that slow replays do not delay quick ones. Scores are held while too many slow replays wait, and a wallet can have one slow replay at a time.
 */
class ReplayThreads implements AsyncDisposable {
  readonly #quick: ReplayThread;
  readonly #slow: ReplayThread;
  /** Wallets whose replay runs or waits in the thread of slow replays. */
  readonly #slowWallets = new Set<string>();
  /** Replays that run or wait, so that a repeated request adds no second run. */
  readonly #pending = new Map<string, Promise<ReplayOutcome>>();

  constructor(app: App) {
    this.#quick = new ReplayThread(app);
    this.#slow = new ReplayThread(app);
  }

  run(task: WalletTask): Promise<ReplayOutcome> {
    const key = createHash('sha256').update(task.seed).update(task.log).digest('hex');
    const pending = this.#pending.get(key);
    if (pending) return pending;
    const outcome = this.#runOnce(task).finally(() => this.#pending.delete(key));
    this.#pending.set(key, outcome);
    return outcome;
  }

  async #runOnce(task: WalletTask): Promise<ReplayOutcome> {
    const outcome = await this.#quick.run(task, QUICK_INSTRUCTIONS);
    return 'unfinished' in outcome ? await this.#runSlow(task) : outcome;
  }

  async #runSlow(task: WalletTask): Promise<ReplayOutcome> {
    const { wallet } = task;
    if (this.#slowWallets.has(wallet)) return { exhausted: 'another long replay of the wallet is running' };
    if (this.#slowWallets.size >= MAX_SLOW) return { exhausted: 'the replay is long, and too many other long replays are waiting' };
    this.#slowWallets.add(wallet);
    try {
      const outcome = await this.#slow.run(task, Number.POSITIVE_INFINITY);
      if ('unfinished' in outcome) throw new Error('a replay without a limit did not finish');
      return outcome;
    } finally {
      this.#slowWallets.delete(wallet);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#quick.close(), this.#slow.close()]);
  }
}

const threads = perApp((app) => new ReplayThreads(app));

/**
 * Runs a replay in a worker thread of this process.
 * @throws Error when the thread fails or the simulation is missing; the caller retries
 */
export const runInThread = (app: App, task: WalletTask): Promise<ReplayOutcome> => app.state(threads).run(task);
