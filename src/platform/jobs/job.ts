import type { z } from 'zod';

/** The definition of a job: its name, queue, payload and attempts. */
export interface Job<Name extends string = string, Payload extends z.ZodType = z.ZodType, Queue extends string = string> {
  /** Name of the job in Redis. After a rename, jobs that wait under the former name have no handler. */
  readonly name: Name;
  readonly queue: Queue;
  /**
   * Holds ids, and not amounts or rows: the handler reads the current rows from the database. The only exception is the job recordScores, whose
   * payload contains the scores.
   */
  readonly payload: Payload;
  /** Maximum attempts, including the first one. */
  readonly attempts: number;
  /** Delay before the second attempt, ms. */
  readonly backoffMs: number;
  /** `exponential` doubles the delay after each failed attempt; `fixed` always uses the same delay. */
  readonly backoff: 'exponential' | 'fixed';
  /**
   * Returns the priority within the queue, 1 (first) to 2,097,152 (last). Jobs with the same priority run in the order in which they were added.
   * BullMQ runs jobs without a priority before all others, so either every job of a queue has a priority or none has one.
   */
  priority?(payload: z.output<Payload>): number;
  /** Returns the deduplication id. A job is not added to the queue while another job with the same id waits or runs. */
  id?(payload: z.output<Payload>): string;
  /** Returns the ids of the requests that wait for this job, if a job carries the data of several requests. */
  requestIds?(payload: z.output<Payload>): readonly string[];
}

/** Declares a job. By default it has 8 attempts, with an exponential backoff from 500 ms. */
export function job<const Name extends string, Payload extends z.ZodType, const Queue extends string>(
  definition: Omit<Job<Name, Payload, Queue>, 'attempts' | 'backoffMs' | 'backoff'> & Partial<Pick<Job, 'attempts' | 'backoffMs' | 'backoff'>>,
): Job<Name, Payload, Queue> {
  return { attempts: 8, backoffMs: 500, backoff: 'exponential', ...definition };
}

/** Reports the progress of a job, 0 to 100 percent. A worker stores it at most once per second, and Bull Board shows it. */
export type Progress = (percent: number) => void;
