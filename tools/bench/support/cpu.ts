import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { sendSignal } from '#dev/stack/child.ts';
import type { System } from '#dev/stack/system.ts';
import { type Against, report } from './report.ts';

/** Clock ticks per second in /proc; the same on all supported Linux systems. */
const TICKS_PER_SEC = 100;

/** CPU time of each part of a system (`api`, `worker`, `postgresql`, `redis`, `load`), in seconds or in µs per request. */
export type Cpu = Record<string, number>;

/**
 * Returns the CPU seconds that each part of a system and the load process have used so far. Works only on Linux; returns an empty object on other
 * systems.
 */
export function cpuSeconds(system: System): Cpu {
  if (!existsSync('/proc/stat')) return {};
  const total = (pids: readonly number[]) => pids.reduce((sum, pid) => sum + ticksOf(pid), 0) / TICKS_PER_SEC;
  const parts = Object.entries(processesOf(system)).map(([part, pids]) => [part, total(pids)]);
  return { ...Object.fromEntries(parts), load: total([process.pid]) };
}

/** Returns the ids of the processes of a system by part, in the order in which they need each other. */
const processesOf = (system: System) => ({
  api: system.apis.map((api) => api.pid),
  worker: system.workers.map((worker) => worker.pid),
  postgresql: [system.postgres.pid, ...childrenOf(system.postgres.pid)],
  redis: [system.redis.pid],
});

/** Time after which a system that was paused has caught up with its recurring jobs and its connections, ms. */
const CATCH_UP_MS = 2_000;

/**
 * Stops all processes of a system (SIGSTOP), so that they use no CPU time. Works only on Linux; does nothing on other systems.
 * @returns a function that lets them run again, and waits until they have caught up
 */
export function pauseSystem(system: System): () => Promise<void> {
  if (!existsSync('/proc/stat')) return async () => undefined;
  // The id of a process that does not run is 0, which stands for the process group of this program.
  const pids = Object.values(processesOf(system))
    .flat()
    .filter((pid) => pid > 0);
  for (const pid of pids) sendSignal(pid, 'SIGSTOP');
  return async () => {
    for (const pid of pids.toReversed()) sendSignal(pid, 'SIGCONT');
    await sleep(CATCH_UP_MS);
  };
}

/** Returns the CPU time per request between two results of `cpuSeconds`, by part of the system, µs. */
export function cpuPerRequest(before: Cpu, after: Cpu, requests: number): Cpu {
  return Object.fromEntries(Object.keys(after).map((part) => [part, (1e6 * ((after[part] ?? 0) - (before[part] ?? 0))) / requests]));
}

/** Returns the sum of the CPU times of all parts of the system, without the load process. */
export const totalWithoutLoad = ({ load: _, ...parts }: Cpu): number => Object.values(parts).reduce((sum, part) => sum + part, 0);

/** Clock ticks of all cores of the machine, counted since its start. */
interface MachineTicks {
  readonly idle: number;
  readonly all: number;
}

/** Returns the clock ticks of the machine; null on systems other than Linux. */
export function machineTicks(): MachineTicks | null {
  if (!existsSync('/proc/stat')) return null;
  // The columns: user, nice, system, idle, waiting for the disk, interrupts, software interrupts, stolen. Later columns are parts of the first two.
  const columns = (readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? '').trim().split(/\s+/).slice(1, 9).map(Number);
  const [, , , idle = 0, waiting = 0] = columns;
  return { idle: idle + waiting, all: columns.reduce((sum, ticks) => sum + ticks, 0) };
}

/** Returns the idle share of the machine between two results of `machineTicks`, from 0 to 1; null when it is not known. */
export function idleShare(before: MachineTicks | null, after: MachineTicks | null): number | null {
  return before === null || after === null ? null : (after.idle - before.idle) / Math.max(1, after.all - before.all);
}

/**
 * Reports the CPU time per request without the load process. Reports the CPU time of each part and the idle share of the machine as a remark.
 * @param idle result of `idleShare`
 */
export function reportCpu(what: string, perRequest: Cpu, against?: Against, idle: number | null = null): void {
  const parts = Object.entries(perRequest).map(([part, spent]) => `${part} ${Math.round(spent)}`);
  if (idle !== null) parts.push(`machine idle ${Math.round(100 * idle)} %`);
  if (parts.length > 0) report(`${what}: CPU`, totalWithoutLoad(perRequest), 'µs', against ?? parts.join(', '));
}

/** Returns the CPU seconds that a process has used so far. */
export const secondsOf = (pid: number): number => ticksOf(pid) / TICKS_PER_SEC;

/**
 * Returns the fields of /proc/PID/stat after the name of the process, from its state (the third field of proc(5)) on; empty for a process that has
 * ended.
 */
function statOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
  } catch {
    return [];
  }
}

/** Returns the user and system CPU time of a process and of its ended child processes, clock ticks. */
function ticksOf(pid: number): number {
  const fields = statOf(pid);
  return [11, 12, 13, 14].reduce((sum, i) => sum + Number(fields[i] ?? 0), 0);
}

function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => Number(statOf(pid)[1]) === parent);
}
