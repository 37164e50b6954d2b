import { Counter, Histogram } from 'prom-client';
import { registry } from '#platform/observability/metrics/metrics.ts';

const scores = new Counter({
  name: 'coinop_scores_total',
  help: 'Submitted scores by outcome: accepted, held, or the HTTP status of the error. Repeated submissions count again.',
  labelNames: ['outcome'] as const,
  registers: [registry],
});
const batchSizes = new Histogram({
  name: 'coinop_score_batch_size',
  help: 'Scores per database transaction.',
  buckets: [1, 2, 5, 10, 25, 50, 100, 200, 500],
  registers: [registry],
});

/**
 * Counts the outcomes of the scores of one transaction.
 * @param outcomes list with one item per score: `accepted`, `held`, or the HTTP status of the error
 */
export function observeScores(outcomes: readonly string[]): void {
  batchSizes.observe(outcomes.length);
  for (const [outcome, all] of Map.groupBy(outcomes, (one) => one)) scores.inc({ outcome }, all.length);
}
