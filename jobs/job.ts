import type { z } from 'zod';

/** The queues of the service. Their names are wire format: a renamed queue loses what waits in it. */
export const QUEUES = ['scores', 'points', 'upkeep', 'chain', 'follow', 'payouts', 'webhooks', 'epochs', 'rounds', 'arcade'] as const;
export type QueueName = (typeof QUEUES)[number];

/** A job as a value: what may be asked, and how often it is tried. */
export interface Job<Name extends string = string, Payload extends z.ZodType = z.ZodType> {
  readonly name: Name;
  readonly queue: QueueName;
  /** Ids, never amounts or rows: the handler reads the record. */
  readonly payload: Payload;
  /** Tries in all, `backoffMs` apart: each time twice as long as before, or always the same. */
  readonly attempts: number;
  readonly backoffMs: number;
  readonly backoff: 'exponential' | 'fixed';
  /** Jobs of the same id are one while the first still waits or runs. */
  readonly id?: (payload: z.output<Payload>) => string;
  /** The ids under which requests wait for it, where it carries several. */
  readonly askers?: (payload: z.output<Payload>) => readonly string[];
  /** Runs by itself every so many milliseconds. */
  readonly everyMs?: number;
}

/** Declares a job. */
export function job<const Name extends string, Payload extends z.ZodType>(
  definition: Omit<Job<Name, Payload>, 'attempts' | 'backoffMs' | 'backoff'> & Partial<Pick<Job, 'attempts' | 'backoffMs' | 'backoff'>>,
): Job<Name, Payload> {
  return { attempts: 8, backoffMs: 500, backoff: 'exponential', ...definition };
}
