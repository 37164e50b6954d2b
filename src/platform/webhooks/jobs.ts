import { z } from 'zod';
import { job } from '#platform/jobs/job.ts';
import { WEBHOOK_SOURCES } from './config.ts';

/** Processes one stored delivery. The delivery's row holds the error and the time of the next attempt, so the queue does not retry. */
export const processWebhook = job({
  name: 'process-webhook',
  queue: 'webhooks',
  payload: z.strictObject({ source: z.enum(WEBHOOK_SOURCES), id: z.string().min(1).max(512) }),
  attempts: 1,
  id: ({ source, id }) => `process-webhook-${source}-${id}`,
});
