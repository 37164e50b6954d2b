import { z } from 'zod';
import { job } from '#platform/jobs/job.ts';

/** Enqueues processWebhook for webhook deliveries whose next attempt is due or whose job was lost. */
export const sweepWebhooks = job({
  name: 'sweep-webhooks',
  queue: 'webhooks',
  payload: z.strictObject({}),
  id: () => 'sweep-webhooks',
});
