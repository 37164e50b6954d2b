import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** A command for the process that runs the subscribers. The process responds to each command with a `Report`. */
export type Command =
  /** Opens subscribers that use the cookies of sessions in turn; without `cookies` they have no sessions. */
  | { do: 'open'; port: number; path: string; count: number; cookies?: readonly string[] | undefined }
  /** Resets the counters; `seq` is the number of the last event before the measurement. */
  | { do: 'begin'; seq: number }
  /** Cuts `perSec` connections per second until the next command `kill`; 0 cuts none. */
  | { do: 'kill'; perSec: number }
  | { do: 'report' }
  | { do: 'close' };

/** Results of all subscribers since the command `begin`. Latencies are in ms, from the time when the sender created the event to its receipt. */
export interface Report {
  open: number;
  /** Number of socket reads with data; one read may contain several events. */
  chunks: number;
  events: number;
  lost: number;
  duplicates: number;
  resets: number;
  connects: number;
  /** The highest `seq` (event number) that every subscriber has reached. */
  lowestSeq: number;
  p50: number;
  p99: number;
  max: number;
}

/** A process that runs subscribers. */
export interface Subscribers {
  readonly pid: number;
  /** Sends a command to the process and returns the report. */
  send(command: Command): Promise<Report>;
  stop(): void;
}

/** Starts a process that runs subscribers. */
export function startSubscribers(): Subscribers {
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

/** Returns the report when every subscriber has received an event, or after `withinMs`. @param seq the number of the event */
export async function untilDelivered(subscribers: Subscribers, seq: number, withinMs: number): Promise<Report> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const report = await subscribers.send({ do: 'report' });
    if (report.lowestSeq >= seq || performance.now() > deadline) return report;
    await sleep(200);
  }
}

/**
 * Returns the text of an event: its number, and the current time in µs. All processes of a machine share the monotonic clock that gives this time.
 */
export const mark = (seq: number): string => `@${seq}:${process.hrtime.bigint() / 1000n};`;
