import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { recordScores, type Submission } from '#jobs/scores.ts';
import { batching } from '#lib/concurrency/batching.ts';
import { unavailable } from '#lib/errors.ts';
import { newId } from '#lib/ids.ts';
import { type App, perApp } from '#platform/app.ts';
import type { JsonText } from '#platform/http/json-text.ts';
import { beginBatch, hasRecentBatch } from '../mixed-load.ts';
import { receiptIn, type ScoreReceipt, type ScoreRequest } from './schemas.ts';
import { limitUnverifiedScores } from './unverified-limit.ts';

/** Maximum time that a request waits for the commit of its score, ms. */
const COMMIT_TIMEOUT_MS = 5_000;
/**
 * Maximum submissions per job, maximum bytes of the replays of a job, and maximum concurrent jobs. While jobs run, new submissions wait for the next job, so
 * under load the jobs are large. Two jobs at a time keep both cores busy: each step of a job uses one core only. Each job has a fixed cost, so further jobs or
 * smaller ones need more CPU time than they save.
 */
const BATCHES = { maxSize: 128, maxBytes: 524_288, maxConcurrent: 2, lingerMs: 2 };
/** Minimum submissions of a second concurrent job: while this process starts no plays, and while it does. */
const MIN_CONCURRENT = { alone: 12, besidePlays: 64 };
/** Time after which a job no longer counts as concurrent, ms, so that a worker that died does not delay the next jobs. */
const MAX_IN_FLIGHT_MS = 250;

interface PendingSubmission {
  submission: Submission;
  answered: Promise<unknown>;
}

const submitter = perApp((app) =>
  batching<PendingSubmission>(
    async (batch) => {
      beginBatch(app, 'scores');
      const submissions = batch.map((pending) => pending.submission);
      await app.queues.add([{ job: recordScores, payload: { channel: app.replies.channel, submissions } }]);
      const all = Promise.allSettled(batch.map((pending) => pending.answered));
      await Promise.race([all, sleep(MAX_IN_FLIGHT_MS, undefined, { ref: false })]);
    },
    {
      ...BATCHES,
      minConcurrentSize: () => (hasRecentBatch(app, 'plays') ? MIN_CONCURRENT.besidePlays : MIN_CONCURRENT.alone),
      bytesOf: ({ submission }) => submission.replay?.length ?? 0,
    },
  ),
);

/**
 * Enqueues a score and waits for its commit.
 * @throws the error that the worker returned; 429 for too many scores in games without verification
 * @throws 503 when no reply arrives in time; a repeated request gets the stored result
 */
export async function submitScore(app: App, wallet: string, request: ScoreRequest, idempotencyKey: string | null): Promise<JsonText<ScoreReceipt>> {
  await limitUnverifiedScores(app, wallet, request.gameId);
  const { gameId, score, playId = null, durationMs = null, battleId = null, signature = null, replay = null } = request;
  const submission: Submission = {
    id: newId(),
    wallet,
    gameId,
    score,
    playId,
    durationMs,
    battleId,
    signature,
    replay,
    idempotencyKey,
    at: app.clock.now().toISOString(),
    bodyHash: hash('sha256', JSON.stringify([gameId, score, playId, durationMs, battleId, signature, ...(replay === null ? [] : [replay])])),
  };
  const answered = app.replies.wait(submission.id, COMMIT_TIMEOUT_MS);
  const submit = app.state(submitter);
  submit({ submission, answered }).catch((error) => {
    app.log.warn({ err: error }, 'a score cannot be enqueued; its request gets 503');
    app.replies.reject(submission.id, unavailable('scores cannot be accepted at the moment, send the same score again'));
  });
  return receiptIn(await answered);
}
