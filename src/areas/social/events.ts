import { z } from 'zod';
import { line } from '#lib/scalars.ts';
import { event } from '#platform/events/event.ts';

export const notification = event({
  type: 'notification',
  category: 'system',
  summary: 'A message to display, for all clients or for one wallet.',
  payload: z.strictObject({ level: z.enum(['info', 'warning']).default('info'), text: line(500), link: z.string().max(500).optional() }),
});

/** Every event type of this area. */
export const socialEvents = [notification];
