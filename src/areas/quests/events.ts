import { z } from 'zod';
import { event } from '#platform/events/event.ts';

const Key = z.string().min(1).max(64);

export const questCompleted = event({
  type: 'quest_completed',
  category: 'gameplay',
  summary: 'The wallet completed a quest or a daily task and received points. Sent to this wallet only.',
  payload: z.strictObject({
    questId: Key,
    title: z.string(),
    /** The key of the quest's window (the days that count for one completion): `once`, a UTC day (2026-11-21) or an ISO week (2026-W47). */
    window: Key,
    points: z.int(),
    task: z.boolean(),
  }),
});

export const questEvents = [questCompleted];
