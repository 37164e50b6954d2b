import { z } from 'zod';
import { job } from '#platform/jobs/job.ts';

/** One submitted score. The request validated its fields already, so the worker does not decode base58 again for each of thousands. */
export const Submission = z.strictObject({
  /** Id of the future score, chosen by the API process. The reply carries it. */
  id: z.string(),
  wallet: z.string(),
  gameId: z.string(),
  score: z.int(),
  playId: z.string().nullable(),
  durationMs: z.int().nullable(),
  battleId: z.string().nullable(),
  signature: z.string().nullable(),
  idempotencyKey: z.string().nullable(),
  /** Hex SHA-256 of the canonical request. Tells a repeated request from another score under the same play or idempotency key. */
  bodyHash: z.string().length(64),
  /** When the score was submitted. The play ends at this time, however long the job waits. */
  at: z.iso.datetime(),
});
export type Submission = z.infer<typeof Submission>;

/**
 * Validates and records a batch of scores, and sends the outcomes to the reply channel of the API process.
 * This job alone carries its data in the payload: nothing is confirmed before its commit, and a second run finds the rows of the first.
 */
export const recordScores = job({
  name: 'record-scores',
  queue: 'scores',
  payload: z.strictObject({ channel: z.string(), submissions: z.array(Submission).min(1).max(500) }),
  requestIds: ({ submissions }) => submissions.map(({ id }) => id),
  // For two minutes at a fixed interval: a request waits for the outcome, and committed scores must reach the boards.
  attempts: 240,
  backoffMs: 500,
  backoff: 'fixed',
});
