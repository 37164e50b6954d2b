import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { recordScores, type Submission } from '#jobs/scores.ts';
import { batching } from '#lib/batching.ts';
import { fail, unavailable } from '#lib/errors.ts';
import { newId } from '#lib/ids.ts';
import type { App } from '#platform/app.ts';
import type { ScoreOutcome, ScoreReceipt, ScoreRequest } from './schemas.ts';

/** How long a score's request waits for its commit, ms. */
const WAIT_MS = 5_000;
/** Submissions in one job, and jobs on their way at once: what arrives meanwhile is the next job, so under load jobs are large and few. */
const BATCHES = { most: 200, flights: 2, least: 40, lingerMs: 1 };
/** A job counts as on its way this long at most, ms: one worker's death does not hold up what the others could do. */
const FLIGHT_MS = 250;

interface Waiting {
  submission: Submission;
  answered: Promise<unknown>;
}

const submitters = new WeakMap<App, (waiting: Waiting) => Promise<void>>();

function submitter(app: App): (waiting: Waiting) => Promise<void> {
  let submit = submitters.get(app);
  if (!submit) {
    submit = batching<Waiting>(async (batch) => {
      const submissions = batch.map((waiting) => waiting.submission);
      await app.queues.add([{ job: recordScores, payload: { channel: app.replies.channel, submissions } }]);
      const all = Promise.allSettled(batch.map((waiting) => waiting.answered));
      await Promise.race([all, sleep(FLIGHT_MS, undefined, { ref: false })]);
    }, BATCHES);
    submitters.set(app, submit);
  }
  return submit;
}

/**
 * Hands a score to the workers and waits for its commit.
 * @throws the worker's refusal, or 503 when the outcome is not known in time: sending the same score again finds it
 */
export async function submitScore(app: App, wallet: string, request: ScoreRequest, idempotencyKey: string | null): Promise<ScoreReceipt> {
  const { gameId, score, playId = null, durationMs = null, battleId = null, signature = null } = request;
  const submission: Submission = {
    id: newId(),
    wallet,
    gameId,
    score,
    playId,
    durationMs,
    battleId,
    signature,
    idempotencyKey,
    at: app.clock.now().toISOString(),
    bodyHash: createHash('sha256')
      .update(JSON.stringify([gameId, score, playId, durationMs, battleId, signature]))
      .digest('hex'),
  };
  const answered = app.replies.wait(submission.id, WAIT_MS);
  submitter(app)({ submission, answered }).catch((error) => {
    app.log.warn({ err: error }, 'a score could not be queued');
    app.replies.reject(submission.id, unavailable('scores cannot be taken at the moment, send the same score again'));
  });
  const outcome = (await answered) as ScoreOutcome;
  if (outcome.status !== 200) throw fail(outcome.status, outcome.error);
  return outcome.receipt;
}
