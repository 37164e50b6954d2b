import { z } from 'zod';
import { job } from './job.ts';

/** The sources whose deliveries are worked on. */
export const WORKED_SOURCES = ['payment-status', 'chat-bridge', 'x'] as const;
export type WorkedSource = (typeof WORKED_SOURCES)[number];

/** Works on a stored delivery. What goes wrong is written down with it, and a sweep rings again: the queue tries once. */
export const workDelivery = job({
  name: 'work-delivery',
  queue: 'webhooks',
  payload: z.strictObject({ source: z.enum(WORKED_SOURCES), id: z.string().min(1).max(512) }),
  attempts: 1,
  id: ({ source, id }) => `work-delivery-${source}-${id}`,
});

/** Rings for deliveries that wait for their next try, or whose bell was lost. */
export const sweepDeliveries = job({
  name: 'sweep-deliveries',
  queue: 'webhooks',
  payload: z.strictObject({}),
  id: () => 'sweep-deliveries',
  everyMs: 2_000,
});
