import { setTimeout as sleep } from 'node:timers/promises';
import type { Commitment, RpcNode } from '#platform/solana/rpc-node.ts';
import { drawsSteps, laneSteps, tokenSteps } from './account-steps.ts';
import { checkCluster } from './cluster.ts';
import type { Deployment } from './configuration.ts';
import { feeOf, type LandingOptions, land, simulate, TransactionRefused } from './landing.ts';
import { programFiles } from './program-file.ts';
import { programSteps } from './program-steps.ts';
import { readState } from './state.ts';
import type { OpenStep, Step } from './step.ts';

/** The steps of a deployment, with the balance of the deployer. */
export interface Plan {
  readonly slot: number;
  readonly steps: readonly Step[];
  /** Lamports of the deployer. */
  readonly balance: number;
  /** Lamports that the deployer needs for the open steps, with the minimum balance that its account keeps. */
  readonly needed: number;
}

export interface DeployOptions {
  readonly node: RpcNode;
  /** Whether a deployed distributor with other bytes may be replaced. */
  readonly mayUpgrade: boolean;
  /** Whether the committer of the draws account may be replaced. */
  readonly mayRotate: boolean;
  /** Time between two polls of the cluster, ms. */
  readonly pollMs: number;
}

/** Maximum number of times that one step is carried out. */
const MAX_REPEATS = 5;
/** Number of times that the chain is read after a refused transaction, to see whether its step is done. */
const POLLS_AFTER_REFUSAL = 10;

/** Returns the fees of a step, lamports. */
export const feesOf = ({ drafts }: OpenStep, { price }: Deployment): number => drafts.reduce((sum, draft) => sum + feeOf(draft, price), 0);

/** Plans and carries out a deployment. It stores nothing: each plan comes from the accounts on the chain, so a command can be repeated at any time. */
export class Deployer {
  readonly #deployment: Deployment;
  readonly #options: DeployOptions;
  readonly #files: ReturnType<typeof programFiles>;
  readonly #rents = new Map<number, Promise<number>>();

  constructor(deployment: Deployment, options: DeployOptions) {
    this.#deployment = deployment;
    this.#options = options;
    this.#files = programFiles(deployment);
  }

  /**
   * Reads the chain and returns the steps.
   * @throws with one sentence when the deployment cannot be carried out
   */
  async plan(commitment: Commitment = 'finalized'): Promise<Plan> {
    const { node, mayUpgrade, mayRotate } = this.#options;
    const deployment = this.#deployment;
    const state = await readState(node, deployment, this.#files, commitment, (bytes) => this.#rentOf(bytes));
    const programs = await Promise.all(this.#files.map((file) => programSteps(state, deployment, file, mayUpgrade)));
    const accounts = await Promise.all([tokenSteps(state, deployment), drawsSteps(state, deployment, mayRotate), laneSteps(state, deployment)]);
    const steps = [...programs, ...accounts].flat();
    const balance = state.account(deployment.deployer.publicKey)?.lamports ?? 0;
    return { slot: state.slot, steps, balance, needed: await this.#neededFor(steps) };
  }

  /** Checks the cluster. @throws with one sentence when it is another cluster, or does not run the programs */
  async checkCluster(): Promise<void> {
    await checkCluster(this.#options.node, this.#deployment, this.#files);
  }

  /**
   * Carries out all open steps until they are finalized.
   * @param report receives one line per step
   * @throws with one sentence when a step cannot be carried out
   */
  async apply(report: (line: string) => void): Promise<void> {
    await this.checkCluster();
    const repeats = new Map<string, number>();
    for (;;) {
      const plan = await this.plan('confirmed');
      this.requireBalance(plan);
      const step = plan.steps.find((one) => one.state !== 'done');
      if (!step) {
        if (await this.#isFinalized(plan.slot)) return;
        continue;
      }
      if (step.state === 'foreign') throw new Error(step.instruction);
      const count = (repeats.get(step.title) ?? 0) + 1;
      if (count > MAX_REPEATS)
        throw new Error(`the transactions of a step landed without effect (${step.title}): repeat the command with another rpcUrl`);
      repeats.set(step.title, count);
      report(step.title);
      await this.#carryOut(step);
    }
  }

  /** @throws when the deployer has too little SOL for the open steps */
  requireBalance({ balance, needed }: Plan): void {
    const address = this.#deployment.deployer.publicKey;
    if (balance < needed)
      throw new Error(`the deployer ${address} needs ${needed} lamports and has ${balance}: send it ${needed - balance} lamports`);
  }

  /** Sends the transactions of a step. Ignores a refusal when the step is done, because an earlier command may have sent the same transactions. */
  async #carryOut(step: OpenStep): Promise<void> {
    const { node, pollMs } = this.#options;
    const options: LandingOptions = { node, pollMs, price: this.#deployment.price, maxPrice: this.#deployment.maxPrice };
    try {
      if (step.isSimulated) for (const draft of step.drafts) await simulate(options, draft);
      await land(step.drafts, options);
    } catch (error) {
      if (!(error instanceof TransactionRefused)) throw error;
      // A transaction of an earlier command that has just landed is not confirmed yet.
      for (let polls = 0; await this.#isOpen(step); polls++) {
        if (polls >= POLLS_AFTER_REFUSAL) throw new Error(`${step.title}: ${error.message}`, { cause: error });
        await sleep(pollMs);
      }
    }
  }

  async #isOpen(step: OpenStep): Promise<boolean> {
    return (await this.plan('confirmed')).steps.some(({ state, title }) => state === 'open' && title === step.title);
  }

  /** Waits until the state at `slot` is finalized. @returns whether nothing is left to do there; a fork may have dropped a step */
  async #isFinalized(slot: number): Promise<boolean> {
    for (;;) {
      const plan = await this.plan('finalized');
      if (plan.steps.every(({ state }) => state === 'done')) return true;
      if (plan.slot >= slot) return false;
      await sleep(this.#options.pollMs);
    }
  }

  /** Returns the lamports that the deployer needs before the first open step, so that its account never has less than the minimum balance. */
  async #neededFor(steps: readonly Step[]): Promise<number> {
    let [paid, highest] = [0, 0];
    for (const step of steps) {
      if (step.state !== 'open') continue;
      paid += step.rent + feesOf(step, this.#deployment);
      highest = Math.max(highest, paid);
    }
    return highest === 0 ? 0 : highest + (await this.#rentOf(0));
  }

  #rentOf(bytes: number): Promise<number> {
    const known = this.#rents.get(bytes) ?? this.#options.node.rentOf(bytes);
    this.#rents.set(bytes, known);
    return known;
  }
}
