import type { z } from 'zod';

/** A job as a value: what a worker has to do, and how often it is attempted. */
export interface Job<Name extends string = string, Payload extends z.ZodType = z.ZodType, Queue extends string = string> {
  /** The name is wire format: jobs that wait under another name have no handler. */
  readonly name: Name;
  readonly queue: Queue;
  /** Holds ids, never amounts or rows: the handler reads the record. */
  readonly payload: Payload;
  /** Attempts in all. */
  readonly attempts: number;
  /** Delay before the second attempt, ms. */
  readonly backoffMs: number;
  /** `exponential` doubles the delay after each attempt; `fixed` keeps it. */
  readonly backoff: 'exponential' | 'fixed';
  /** Returns the deduplication id. A job is not added while another one with the same id waits or runs. */
  id?(payload: z.output<Payload>): string;
  /** Returns the ids of the requests that wait for this job, where one job carries several. */
  requestIds?(payload: z.output<Payload>): readonly string[];
}

/** Declares a job. By default it has 8 attempts, with an exponential backoff from 500 ms. */
export function job<const Name extends string, Payload extends z.ZodType, const Queue extends string>(
  definition: Omit<Job<Name, Payload, Queue>, 'attempts' | 'backoffMs' | 'backoff'> & Partial<Pick<Job, 'attempts' | 'backoffMs' | 'backoff'>>,
): Job<Name, Payload, Queue> {
  return { attempts: 8, backoffMs: 500, backoff: 'exponential', ...definition };
}
