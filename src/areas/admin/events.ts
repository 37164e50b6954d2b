import { z } from 'zod';
import { Id } from '#lib/scalars.ts';
import { event } from '#platform/events/event.ts';

export const notification = event({
  type: 'notification',
  category: 'system',
  summary: 'A message from the operators, to everybody or to one wallet.',
  payload: z.strictObject({ id: Id, title: z.string(), text: z.string(), link: z.string().nullable() }),
});

export const adminEvents = [notification];
