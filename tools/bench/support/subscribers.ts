import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** A command for the subscribers' process. It responds to each with a report. */
export type Command =
  | { do: 'open'; port: number; path: string; count: number }
  /** Resets the counters; `seq` is the last event before the measurement. */
  | { do: 'begin'; seq: number }
  /** Cuts `perSec` connections per second from now on. */
  | { do: 'kill'; perSec: number }
  | { do: 'report' }
  | { do: 'close' };

/** Results of all subscribers since `begin`. Latencies in ms, from the call of the sender to the receipt. */
export interface Report {
  open: number;
  /** Socket reads with data; one read may contain several events. */
  chunks: number;
  events: number;
  lost: number;
  duplicates: number;
  resets: number;
  connects: number;
  /** The last event that all subscribers have received. */
  lowestSeq: number;
  p50: number;
  p99: number;
  max: number;
}

/** Starts the subscribers' process. */
export function startSubscribers(): { pid: number; send(command: Command): Promise<Report>; stop(): void } {
  const child = fork(join(import.meta.dirname, 'subscribers-process.ts'), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  return {
    pid: child.pid ?? 0,
    async send(command) {
      const answered = once(child, 'message');
      child.send(command);
      const [report] = await answered;
      return report;
    },
    stop: () => child.disconnect(),
  };
}

/** Returns the text of an event: its number and its send time, by the monotonic clock that all processes of a machine share. */
export const mark = (seq: number): string => `@${seq}:${process.hrtime.bigint() / 1000n};`;
