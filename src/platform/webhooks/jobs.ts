import { z } from 'zod';
import { job } from '#platform/jobs/job.ts';

/** The webhook sources whose deliveries workers process. */
export const PROCESSED_SOURCES = ['payment-status', 'chat-bridge', 'x'] as const;
export type ProcessedSource = (typeof PROCESSED_SOURCES)[number];

/** Processes one stored delivery. The delivery's row holds the error and the time of the next attempt, so the queue does not retry. */
export const processWebhook = job({
  name: 'process-webhook',
  queue: 'webhooks',
  payload: z.strictObject({ source: z.enum(PROCESSED_SOURCES), id: z.string().min(1).max(512) }),
  attempts: 1,
  id: ({ source, id }) => `process-webhook-${source}-${id}`,
});
