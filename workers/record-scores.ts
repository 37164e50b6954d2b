import { processScores } from '#areas/arcade';
import { admitScores } from '#areas/battles';
import type { recordScores as job, Submission } from '#jobs/scores.ts';
import { batching } from '#lib/batching.ts';
import type { App } from '#platform/app.ts';
import { answer } from '#platform/jobs/replies.ts';
import { observeScores } from '#platform/observability/metrics/metrics.ts';
import { carryTrace, traceBatch } from '#platform/observability/tracing/tracing.ts';
import type { Handler } from './handler.ts';

interface Asked {
  channel: string;
  submission: Submission;
  trace: string | undefined;
}

/** Scores of all running jobs that go into one transaction, and transactions at once. */
const BATCHES = { most: 500, flights: 2 };

const recorders = new WeakMap<App, (asked: Asked) => Promise<void>>();

/** Scores of the jobs that run while a transaction is under way become the next one. */
function recorder(app: App): (asked: Asked) => Promise<void> {
  let record = recorders.get(app);
  if (!record) {
    const traces = (batch: readonly Asked[]) => batch.map(({ trace }) => trace);
    record = batching((batch) => traceBatch('record scores', traces(batch), () => processAndAnswer(app, batch)), BATCHES);
    recorders.set(app, record);
  }
  return record;
}

async function processAndAnswer(app: App, batch: readonly Asked[]): Promise<void> {
  const outcomes = await processScores(
    app,
    batch.map((asked) => asked.submission),
    admitScores,
  );
  const answers = outcomes.map((outcome, i) => ({ channel: batch[i]?.channel ?? '', ...outcome }));
  observeScores(outcomes.map(({ outcome }) => (outcome.status === 200 ? outcome.receipt.status : String(outcome.status))));
  const byChannel = Map.groupBy(answers, (one) => one.channel);
  await answer(app.redis, new Map([...byChannel].map(([channel, of]) => [channel, of.map(({ id, outcome }) => ({ id, outcome }))])));
}

/** Records a job's scores together with those of other running jobs; answers whoever waits. */
export const recordScores: Handler<typeof job> = async (app, { channel, submissions }) => {
  const record = recorder(app);
  const trace = carryTrace();
  await Promise.all(submissions.map((submission) => record({ channel, submission, trace })));
};
