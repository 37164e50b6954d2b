import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** What the subscribers' process is told; it answers each with a report. */
export type Command =
  | { do: 'open'; port: number; path: string; count: number }
  /** Counts from here; `seq` is the last event that does not count. */
  | { do: 'begin'; seq: number }
  /** Cuts so many connections a second, from now on. */
  | { do: 'kill'; perSec: number }
  | { do: 'report' }
  | { do: 'close' };

/** What all subscribers have seen since `begin`. Latencies in ms, from the sender's call to the receiver's. */
export interface Report {
  open: number;
  /** Reads that brought something; several events may come in one. */
  chunks: number;
  events: number;
  lost: number;
  doubled: number;
  resets: number;
  connects: number;
  /** The last event that everybody has got. */
  least: number;
  p50: number;
  p99: number;
  max: number;
}

/** Starts a process of subscribers. */
export function startSubscribers(): { pid: number; ask(command: Command): Promise<Report>; stop(): void } {
  const child = fork(join(import.meta.dirname, 'subscribers-process.ts'), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  return {
    pid: child.pid ?? 0,
    async ask(command) {
      const answered = once(child, 'message');
      child.send(command);
      const [report] = await answered;
      return report;
    },
    stop: () => child.disconnect(),
  };
}

/** What an event carries: its number, and when it was sent by the clock that all processes of a machine share. */
export const mark = (seq: number): string => `@${seq}:${process.hrtime.bigint() / 1000n};`;
