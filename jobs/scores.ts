import { z } from 'zod';
import { job } from './job.ts';

/** One submitted score on its way to the worker. Its parts were checked where they came in; base58 is not decoded again by the thousand. */
export const Submission = z.strictObject({
  /** Id of the score to be, chosen by the asking process; the reply is addressed by it. */
  id: z.string(),
  wallet: z.string(),
  gameId: z.string(),
  score: z.int(),
  playId: z.string().nullable(),
  durationMs: z.int().nullable(),
  battleId: z.string().nullable(),
  signature: z.string().nullable(),
  idempotencyKey: z.string().nullable(),
  /** Hex SHA-256 of the canonical request: tells a repeat from another score under the same play or key. */
  bodyHash: z.string().length(64),
  /** When it was submitted: a play ends then, however long the queue is. */
  at: z.iso.datetime(),
});
export type Submission = z.infer<typeof Submission>;

/**
 * Validates and records a batch of scores, and answers over the asking process's reply channel.
 * The one job that carries its work with it: nothing is confirmed before its commit, and running it again finds its own rows.
 */
export const recordScores = job({
  name: 'record-scores',
  queue: 'scores',
  payload: z.strictObject({ channel: z.string(), submissions: z.array(Submission).min(1).max(500) }),
  askers: ({ submissions }) => submissions.map(({ id }) => id),
  // For two minutes, evenly: somebody waits, and what is committed has to reach the boards.
  attempts: 240,
  backoffMs: 500,
  backoff: 'fixed',
});
