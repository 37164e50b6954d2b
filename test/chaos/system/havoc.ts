import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { LocalnetControl } from '#dev/localnet/control/control.ts';
import { describeExit, type Exit } from '#dev/stack/child.ts';
import type { Replaceable, System } from '#dev/stack/system.ts';
import { describe, type Fault, type PlannedFault } from './faults.ts';
import { breakCommits, cutPostgres, stall } from './postgres-faults.ts';

/** How often a process that has ended by itself is looked for, ms: whoever runs us restarts what ends. */
const WATCH_MS = 250;
/** A process that was asked to stop should have, ms: nothing that it has in hand is down for as long. */
const DRAIN_MS = 15_000;

/** Does to a system what was planned, and keeps its processes running otherwise. */
export class Havoc {
  /** What was done, with times. */
  readonly log: string[] = [];
  readonly complaints: string[] = [];
  /** How often Redis was killed: only then may a stream not be whole. */
  redisKills = 0;
  readonly #system: System;
  readonly #say: (line: string) => void;
  readonly #control: LocalnetControl;
  readonly #began = performance.now();
  /** What happens to one part happens one after the other. */
  readonly #turns = new Map<string, Promise<void>>();
  readonly #held = new Set<Replaceable>();
  /** Those that have ended because of us, and are not started again yet. */
  readonly #ended = new Set<Replaceable>();
  readonly #watching: Promise<void>;
  #over = false;

  constructor(system: System, say: (line: string) => void) {
    if (!system.localnet) throw new Error('there is no cluster');
    this.#system = system;
    this.#say = say;
    this.#control = new LocalnetControl(system.localnet.url);
    this.#watching = Promise.all([...system.apis, ...system.workers].map((place) => this.#watch(place))).then(() => undefined);
  }

  /** Lets faults happen until it is over. */
  async rage(faults: Iterable<PlannedFault>, isOver: () => boolean): Promise<void> {
    for (const { afterMs, fault } of faults) {
      const end = performance.now() + afterMs;
      while (performance.now() < end && !isOver()) await sleep(Math.min(50, Math.max(1, end - performance.now())));
      if (isOver()) return;
      this.#note(describe(fault));
      this.#inTurn(partOf(fault), () => this.#cause(fault));
    }
  }

  /** Everything runs again, without a fault. */
  async calm(): Promise<void> {
    await Promise.all(this.#turns.values());
    await this.#control.clear();
    this.#note('calm');
  }

  async stop(): Promise<void> {
    this.#over = true;
    await this.#watching;
  }

  #note(what: string): void {
    const line = `${((performance.now() - this.#began) / 1_000).toFixed(1).padStart(7)} s  ${what}`;
    this.log.push(line);
    this.#say(line);
  }

  #inTurn(part: string, work: () => Promise<void>): void {
    const before = this.#turns.get(part) ?? Promise.resolve();
    const turn = before.then(work).catch((error: unknown) => void this.complaints.push(`${part}: ${String(error)}`));
    this.#turns.set(part, turn);
  }

  async #cause(fault: Fault): Promise<void> {
    const { redis, postgres, localnet } = this.#system;
    switch (fault.kind) {
      case 'kill':
      case 'stop':
      case 'freeze':
        return await this.#harm(fault);
      case 'redis':
        this.redisKills++;
        await redis.kill();
        await sleep(fault.downMs);
        return await redis.restart({ empty: fault.empty });
      case 'postgres':
        await postgres.kill();
        await sleep(fault.downMs);
        return await postgres.restart();
      case 'localnet':
        await localnet?.kill();
        await sleep(fault.downMs);
        return await localnet?.restart();
      case 'cut':
        return await (fault.what === 'redis' ? cutRedis(redis.url) : cutPostgres(postgres.url)).catch(() => undefined);
      case 'stall':
        return await stall(postgres.url, fault.table, fault.forMs).catch(() => undefined);
      case 'commits':
        return await this.#meanwhile(fault.forMs, async () => {
          await breakCommits(postgres.url, fault.share);
          return () => breakCommits(postgres.url, 0);
        });
      case 'rpc':
        return await this.#meanwhile(fault.forMs, async () => {
          const { clear } = await this.#control.fault(fault.fault);
          return clear;
        });
      case 'stale':
        return await this.#meanwhile(fault.forMs, async () => {
          await this.#control.lag(fault.slots);
          return () => this.#control.lag(0);
        });
      case 'beacon':
        return await this.#meanwhile(fault.forMs, async () => {
          await this.#control.beacon({ stopped: true });
          return () => this.#control.beacon({ stopped: false });
        });
    }
  }

  /** Orders to the cluster are lost while it is down, and with it goes what was ordered. */
  async #meanwhile(ms: number, order: () => Promise<() => Promise<void>>): Promise<void> {
    const undo = await order().catch(() => undefined);
    if (!undo) return;
    await sleep(ms);
    await undo().catch(() => undefined);
  }

  async #harm({ kind, place, index, downMs }: Extract<Fault, { index: number }>): Promise<void> {
    const target = (place === 'api' ? this.#system.apis : this.#system.workers)[index];
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
    else this.#judge(target.name, await target.stop(), performance.now() - began);
    await sleep(downMs);
    this.#held.delete(target);
  }

  /** In order is: by itself, with code 0. Or at once, before it had begun to listen to signals. */
  #judge(name: string, exit: Exit | null, took: number): void {
    if (exit === null) return;
    const inOrder = exit.code === 0 || exit.signal === 'SIGTERM';
    if (!inOrder || took > DRAIN_MS) this.complaints.push(`${name} was asked to stop, and ${describeExit(exit)} after ${Math.round(took)} ms`);
  }

  /** Starts a process whenever it is not there, as a supervisor does; one that ends by itself is noted. */
  async #watch(place: Replaceable): Promise<void> {
    while (!this.#over) {
      await sleep(WATCH_MS);
      if (place.pid === 0 && !this.#held.has(place) && !this.#over) {
        if (!this.#ended.delete(place)) this.#note(`${place.name} has ended by itself, and is started again`);
        // It may end before it is ready, while something that it needs is down.
        await place.start().catch(() => undefined);
      }
    }
  }
}

/** Nodes of the cluster have their faults side by side. */
function partOf(fault: Fault): string {
  if ('place' in fault) return `${fault.place}-${fault.index + 1}`;
  if (fault.kind === 'rpc') return `rpc-${fault.fault.kind}`;
  if (fault.kind === 'stall' || fault.kind === 'commits') return 'postgres';
  return fault.kind === 'cut' ? `cut-${fault.what}` : fault.kind;
}

async function cutRedis(url: string): Promise<void> {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    for (const type of ['normal', 'pubsub']) await redis.call('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes');
  } finally {
    redis.disconnect();
  }
}
