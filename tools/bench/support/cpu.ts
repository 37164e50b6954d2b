import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { System } from '#dev/stack/system.ts';
import { type Against, report } from './report.ts';

/** Clock ticks per second in /proc; the same on all supported Linux systems. */
const TICKS_PER_SEC = 100;

/** CPU seconds by part of a system. */
export type Cpu = Record<string, number>;

/** Returns the CPU seconds used so far by each part of a system and by the load itself. Linux only; empty elsewhere. */
export function cpuSeconds(system: System): Cpu {
  try {
    const total = (pids: readonly number[]) => pids.reduce((sum, pid) => sum + ticksOf(pid), 0) / TICKS_PER_SEC;
    return {
      api: total(system.apis.map((api) => api.pid)),
      worker: total(system.workers.map((worker) => worker.pid)),
      postgresql: total([system.postgres.pid, ...childrenOf(system.postgres.pid)]),
      redis: total([system.redis.pid]),
      load: total([process.pid]),
    };
  } catch {
    return {};
  }
}

/** Returns the CPU time per request between two readings, by part, µs. */
export function cpuPerRequest(before: Cpu, after: Cpu, requests: number): Cpu {
  return Object.fromEntries(Object.keys(after).map((part) => [part, (1e6 * ((after[part] ?? 0) - (before[part] ?? 0))) / requests]));
}

/** Returns the CPU time of all parts except the load. */
export const totalWithoutLoad = ({ load: _, ...parts }: Cpu): number => Object.values(parts).reduce((sum, part) => sum + part, 0);

/** Reports the CPU time of a request without the load, and its parts. */
export function reportCpu(what: string, perRequest: Cpu, against?: Against): void {
  const parts = Object.entries(perRequest).map(([part, spent]) => `${part} ${Math.round(spent)}`);
  if (parts.length > 0) report(`${what}: CPU`, totalWithoutLoad(perRequest), 'µs', against ?? parts.join(', '));
}

/** Returns the CPU seconds that a process has used so far. */
export const secondsOf = (pid: number): number => ticksOf(pid) / TICKS_PER_SEC;

/** Returns user and system time, including ended child processes. */
function ticksOf(pid: number): number {
  if (!existsSync(`/proc/${pid}/stat`)) return 0;
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return [11, 12, 13, 14].reduce((sum, i) => sum + Number(fields[i]), 0);
}

function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return (
          Number(
            readFileSync(`/proc/${pid}/stat`, 'utf8')
              .replace(/^.*\) /s, '')
              .split(' ')[1],
          ) === parent
        );
      } catch {
        return false;
      }
    });
}
