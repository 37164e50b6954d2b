import { z } from 'zod';
import { event } from '#platform/events/event.ts';

const Key = z.string().min(1).max(64);

export const questCompleted = event({
  type: 'quest_completed',
  category: 'gameplay',
  summary: 'A quest or a daily task was completed, and gave points. To its wallet only.',
  payload: z.strictObject({
    questId: Key,
    title: z.string(),
    /** `once`, a day as 2026-11-21, an ISO week as 2026-W47. */
    window: Key,
    points: z.int(),
    task: z.boolean(),
  }),
});

export const questEvents = [questCompleted];
