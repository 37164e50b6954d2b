import { encodeOutcome, observeScores, processScores, type ReplayEvidence, runReplays } from '#areas/arcade';
import { admitScores } from '#areas/battles';
import type { recordScores as job, Submission } from '#jobs/scores.ts';
import { batching } from '#lib/concurrency/batching.ts';
import { type App, perApp } from '#platform/app.ts';
import { answer } from '#platform/jobs/replies.ts';
import { exportTrace, traceBatch } from '#platform/observability/tracing/tracing.ts';
import type { Handler } from './handler.ts';

interface PendingScore {
  channel: string;
  submission: Submission;
  trace: string | undefined;
  /** Undefined for a submission without a replay. */
  replay: ReplayEvidence | undefined;
}

/** Maximum scores per transaction, and maximum concurrent transactions. */
const BATCHES = { maxSize: 128, maxConcurrent: 3 };

/** Collects the scores of all running jobs into batches. Scores that arrive during a transaction form the next batch. */
const recorder = perApp((app) =>
  batching<PendingScore>((batch) => {
    const traces = batch.map(({ trace }) => trace);
    return traceBatch('record scores', traces, () => recordAndReply(app, batch));
  }, BATCHES),
);

async function recordAndReply(app: App, batch: readonly PendingScore[]): Promise<void> {
  const outcomes = await processScores(
    app,
    batch.map((pending) => pending.submission),
    admitScores,
    new Map(batch.flatMap(({ submission, replay }) => (replay ? [[submission.id, replay] as const] : []))),
  );
  const replies = outcomes.map((outcome, i) => ({ channel: batch[i]?.channel ?? '', ...outcome }));
  observeScores(outcomes.map(({ outcome }) => (outcome.status === 200 ? outcome.receipt.status : String(outcome.status))));
  const byChannel = Map.groupBy(replies, (reply) => reply.channel);
  await answer(
    app.redis,
    new Map([...byChannel].map(([channel, of]) => [channel, of.map(({ id, outcome }) => ({ id, outcome: encodeOutcome(outcome) }))])),
  );
}

/**
 * Runs the replays of a job's scores, each before its score enters a batch, so that a long replay does not delay other scores. Records the scores
 * together with the scores of other running jobs, and sends the replies to the waiting requests.
 */
export const recordScores: Handler<typeof job> = async (app, { channel, submissions }) => {
  const record = app.state(recorder);
  const trace = exportTrace();
  const replays = await runReplays(app, submissions);
  await Promise.all(submissions.map(async (submission) => record({ channel, submission, trace, replay: await replays.get(submission.id) })));
};
