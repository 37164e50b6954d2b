import { createHash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { recordScores, type Submission } from '../../../../jobs/scores.ts';
import type { App } from '../../../context.ts';
import { batching } from '../../../lib/batching.ts';
import { fail, unavailable } from '../../../lib/errors.ts';
import type { ScoreOutcome, ScoreReceipt, ScoreRequest } from './schema.ts';

/** How long a score's request waits for its commit, ms. */
const WAIT_MS = 5_000;
/** Submissions in one job, and jobs being added at once. */
const BATCHES = { most: 200, flights: 2 };

const submitters = new WeakMap<App, (submission: Submission) => Promise<void>>();

/** Scores that arrive while a job is being added become the next one. */
function submitter(app: App): (submission: Submission) => Promise<void> {
  let submit = submitters.get(app);
  if (!submit) {
    submit = batching<Submission>(async (submissions) => {
      await app.queues.add([{ job: recordScores, payload: { channel: app.replies.channel, submissions } }]);
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
    id: uuidv7(),
    wallet,
    gameId,
    score,
    playId,
    durationMs,
    battleId,
    signature,
    idempotencyKey,
    bodyHash: createHash('sha256')
      .update(JSON.stringify([gameId, score, playId, durationMs, battleId, signature]))
      .digest('hex'),
  };
  const answered = app.replies.wait(submission.id, WAIT_MS);
  submitter(app)(submission).catch((error) => {
    app.log.warn({ err: error }, 'a score could not be queued');
    app.replies.reject(submission.id, unavailable('scores cannot be taken at the moment, send the same score again'));
  });
  const outcome = (await answered) as ScoreOutcome;
  if (outcome.status !== 200) throw fail(outcome.status, outcome.error);
  return outcome.receipt;
}
