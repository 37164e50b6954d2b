import { z } from 'zod';
import { job } from '#platform/jobs/job.ts';

/** One submitted score. The API process has validated the fields, so the worker does not decode the base58 wallet again. */
export const Submission = z.strictObject({
  /** Id of the future score, chosen by the API process. The worker's reply carries the same id. */
  id: z.string(),
  wallet: z.string(),
  gameId: z.string(),
  score: z.int(),
  playId: z.string().nullable(),
  durationMs: z.int().nullable(),
  battleId: z.string().nullable(),
  signature: z.string().nullable(),
  /** Input log of the play, base64. */
  replay: z.string().nullable().default(null),
  idempotencyKey: z.string().nullable(),
  /**
   * Hex SHA-256 of the canonical request. The worker uses this hash to distinguish a repeated request from a different score with the same play or
   * idempotency key.
   */
  bodyHash: z.string().length(64),
  /** Time at which the score was submitted. The play ends at this time, even if the job waits in the queue. */
  at: z.iso.datetime(),
});
export type Submission = z.infer<typeof Submission>;

/**
 * Validates and records a batch of scores, and sends the outcomes to the reply channel of the API process. Other jobs carry only ids; this job
 * carries the scores, because they are not in the database before the worker commits them. A second run of the job finds the rows of the first run.
 */
export const recordScores = job({
  name: 'record-scores',
  queue: 'scores',
  payload: z.strictObject({ channel: z.string(), submissions: z.array(Submission).min(1).max(500) }),
  requestIds: ({ submissions }) => submissions.map(({ id }) => id),
  // 240 attempts, one every 500 ms, take two minutes. There are many attempts, because committed scores must reach the boards. The interval is short,
  // because an HTTP request waits for the outcome.
  attempts: 240,
  backoffMs: 500,
  backoff: 'fixed',
});
