import { setTimeout as sleep } from 'node:timers/promises';
import { LocalnetControl } from '#dev/localnet/control/control.ts';
import { describeExit, type ProcessExit } from '#dev/stack/child.ts';
import type { RestartableProcess } from '#dev/stack/process-slot.ts';
import type { System } from '#dev/stack/system.ts';
import { parseRedisUrl } from '#platform/redis/config.ts';
import { connect } from '#platform/redis/connection.ts';
import { type ChaosFault, describeFault, type PlannedFault } from './faults.ts';
import { breakCommits, cutPostgres, lockTable } from './postgres-faults.ts';

/** Interval at which ended processes are restarted, ms, as an orchestrator does. */
const WATCH_MS = 250;
/**
 * Maximum time from SIGTERM to the exit of a process, ms. An API process closes the connections that are still open after 22 s, and a process ends itself
 * after 25 s; neither should be necessary.
 */
const DRAIN_MS = 20_000;

/** Injects the planned faults into a system, and restarts processes that have ended. */
export class FaultInjector {
  /** The injected faults, with times. */
  readonly log: string[] = [];
  readonly violations: string[] = [];
  /** Number of injected losses of Redis, without failovers. Only a loss or a failover of Redis may cause a reset of the event streams. */
  redisKills = 0;
  readonly #system: System;
  readonly #say: (line: string) => void;
  readonly #control: LocalnetControl;
  readonly #began = performance.now();
  /** The last fault per part of the system. Faults of one part run one after the other. */
  readonly #queues = new Map<string, Promise<void>>();
  /** Processes that must stay down for now. */
  readonly #held = new Set<RestartableProcess>();
  /** Processes that a fault has ended and that are not restarted yet. */
  readonly #ended = new Set<RestartableProcess>();
  readonly #watching: Promise<void>;
  #over = false;

  constructor(system: System, say: (line: string) => void) {
    if (!system.localnet) throw new Error('the system has no localnet');
    this.#system = system;
    this.#say = say;
    this.#control = new LocalnetControl(system.localnet.url);
    this.#watching = Promise.all([...system.apis, ...system.workers].map((target) => this.#watch(target))).then(() => undefined);
  }

  /**
   * Injects faults until `isOver` returns true.
   * @param oneByOne whether each fault must have ended before the pause of the next begins
   */
  async inject(faults: Iterable<PlannedFault>, isOver: () => boolean, { oneByOne = false } = {}): Promise<void> {
    for (const { afterMs, fault } of faults) {
      const end = performance.now() + afterMs;
      while (performance.now() < end && !isOver()) await sleep(Math.min(50, Math.max(1, end - performance.now())));
      if (isOver()) return;
      this.note(describeFault(fault));
      const applied = this.#enqueue(queueOf(fault), () => this.#apply(fault));
      if (!oneByOne) continue;
      await applied;
      this.note(`ended: ${describeFault(fault)}`);
    }
  }

  /** Waits until the running faults end, and clears all faults of the localnet. */
  async clearFaults(): Promise<void> {
    await Promise.all(this.#queues.values());
    await this.#control.clear();
    this.note('all faults ended');
  }

  async stop(): Promise<void> {
    this.#over = true;
    await this.#watching;
  }

  /** Adds a line to the log. */
  note(what: string): void {
    const line = `${((performance.now() - this.#began) / 1_000).toFixed(1).padStart(7)} s  ${what}`;
    this.log.push(line);
    this.#say(line);
  }

  #enqueue(part: string, work: () => Promise<void>): Promise<void> {
    const before = this.#queues.get(part) ?? Promise.resolve();
    const next = before.then(work).catch((error: unknown) => void this.violations.push(`${part}: ${String(error)}`));
    this.#queues.set(part, next);
    return next;
  }

  async #apply(fault: ChaosFault): Promise<void> {
    const { redis, postgres, localnet } = this.#system;
    switch (fault.kind) {
      case 'kill':
      case 'stop':
      case 'freeze':
        return await this.#disrupt(fault);
      case 'redis':
        // A group counts its failovers itself. Only the loss of all data is none.
        if (fault.empty || redis.failovers === undefined) this.redisKills++;
        await redis.kill();
        await sleep(fault.downMs);
        return await redis.restart({ empty: fault.empty });
      case 'postgres':
        await postgres.kill();
        await sleep(fault.downMs);
        return await postgres.restart();
      case 'switchover':
        return await postgres.switchover?.();
      case 'crash':
        return await postgres.crash?.();
      case 'localnet':
        await localnet?.kill();
        await sleep(fault.downMs);
        return await localnet?.restart();
      case 'cut':
        return await (fault.what === 'redis' ? cutRedis(redis.url) : cutPostgres(postgres.url)).catch(() => undefined);
      case 'stall':
        return await lockTable(postgres.url, fault.table, fault.forMs).catch(() => undefined);
      case 'commits':
        return await this.#applyFor(fault.forMs, async () => {
          await breakCommits(postgres.url, fault.share);
          return () => untilDone(() => breakCommits(postgres.url, 0));
        });
      case 'rpc':
        return await this.#applyFor(fault.forMs, async () => {
          const { clear } = await this.#control.fault(fault.fault);
          return clear;
        });
      case 'stale':
        return await this.#applyFor(fault.forMs, async () => {
          await this.#control.lag(fault.slots, fault.node);
          return () => this.#control.lag(0, fault.node);
        });
      case 'lie':
        return await this.#applyFor(fault.forMs, async () => {
          await this.#control.claim(fault.says, undefined, fault.node);
          return () => this.#control.claim('truth', undefined, fault.node);
        });
      case 'limit':
        return await this.#applyFor(fault.forMs, async () => {
          await this.#control.limit(fault.perSecond, { node: fault.node });
          return () => this.#control.limit(null, { node: fault.node });
        });
      case 'congest':
        return await this.#applyFor(fault.forMs, async () => {
          await this.#control.congest({ median: fault.median });
          return () => this.#control.congest(null);
        });
      case 'purge':
        return await this.#applyFor(fault.forMs, async () => {
          await this.#control.purge(undefined, fault.node);
          return () => this.#control.purge(0, fault.node);
        });
      case 'beacon':
        return await this.#applyFor(fault.forMs, async () => {
          await this.#control.beacon({ stopped: true });
          return () => this.#control.beacon({ stopped: false });
        });
    }
  }

  /** Applies a fault for a time. Ignores errors, because the server may be down; a restart of the localnet ends its faults, too. */
  async #applyFor(ms: number, apply: () => Promise<() => Promise<void>>): Promise<void> {
    const undo = await apply().catch(() => undefined);
    if (!undo) return;
    await sleep(ms);
    await undo().catch(() => undefined);
  }

  async #disrupt({ kind, role, index, downMs }: Extract<ChaosFault, { index: number }>): Promise<void> {
    const target = (role === 'api' ? this.#system.apis : this.#system.workers)[index];
    if (!target || target.pid === 0) return;
    if (kind === 'freeze') {
      const { pid } = target;
      process.kill(pid, 'SIGSTOP');
      await sleep(downMs);
      if (target.pid === pid) process.kill(pid, 'SIGCONT');
      return;
    }
    this.#held.add(target);
    this.#ended.add(target);
    const began = performance.now();
    if (kind === 'kill') await target.kill();
    else this.#checkExit(target.name, await target.stop(), performance.now() - began);
    await sleep(downMs);
    this.#held.delete(target);
  }

  /** Reports a process that did not exit with code 0 in time. SIGTERM before the process handles signals is no violation. */
  #checkExit(name: string, exit: ProcessExit | null, took: number): void {
    if (exit === null) return;
    const isExpected = exit.code === 0 || exit.signal === 'SIGTERM';
    if (!isExpected || took > DRAIN_MS) this.violations.push(`${name} got SIGTERM and ${describeExit(exit)} after ${Math.round(took)} ms`);
  }

  /** Restarts a process whenever it has ended. An end that no fault caused is a violation. */
  async #watch(target: RestartableProcess): Promise<void> {
    while (!this.#over) {
      await sleep(WATCH_MS);
      if (target.pid === 0 && !this.#held.has(target) && !this.#over) {
        if (!this.#ended.delete(target)) this.violations.push(`${target.name} has ended without a fault`);
        // The start fails when a fault ends the process before it is ready; the next iteration tries again.
        await target.start().catch((error: unknown) => {
          this.#ended.add(target);
          this.note(`${target.name} did not start and is started again: ${String(error).slice(0, 200)}`);
        });
      }
    }
  }
}

/** Repeats an action that fails, because PostgreSQL may be down. @throws the error of the action after two minutes */
async function untilDone(act: () => Promise<void>): Promise<void> {
  const end = performance.now() + 120_000;
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (performance.now() > end) throw error;
      await sleep(200);
    }
  }
}

/** Returns the queue of a fault. Different faults of the RPC nodes may overlap. */
function queueOf(fault: ChaosFault): string {
  if ('role' in fault) return `${fault.role}-${fault.index + 1}`;
  if (fault.kind === 'rpc') return `rpc-${fault.fault.kind}-${fault.fault.node}`;
  if (fault.kind === 'stale' || fault.kind === 'limit' || fault.kind === 'purge') return `${fault.kind}-${fault.node}`;
  if (fault.kind === 'stall' || fault.kind === 'commits' || fault.kind === 'switchover' || fault.kind === 'crash') return 'postgres';
  return fault.kind === 'cut' ? `cut-${fault.what}` : fault.kind;
}

async function cutRedis(url: string): Promise<void> {
  const redis = connect(parseRedisUrl(url), { lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    for (const type of ['normal', 'pubsub']) await redis.call('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes');
  } finally {
    redis.disconnect();
  }
}
