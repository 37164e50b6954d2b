import { z } from 'zod';
import { Count } from '#lib/scalars.ts';
import { event } from '#platform/events/event.ts';
import { REPEATS } from './windows.ts';

const Key = z.string().min(1).max(64);

const published = z.strictObject({
  questId: Key,
  version: Count.min(1),
  title: z.string(),
  category: z.string(),
  /** Points before the multiplier. */
  points: Count,
  task: z.boolean(),
  repeat: z.enum(REPEATS),
  burnEventId: Key.nullable(),
});

export const questPublished = event({
  type: 'quest_published',
  category: 'gameplay',
  summary:
    'A quest or a daily task can be completed from now on: it was created or activated, or its window began. `GET /quests` lists it with its requirement.',
  payload: published,
});

export const questChanged = event({
  type: 'quest_changed',
  category: 'gameplay',
  summary: 'A listed quest has a new version. Read it again from `GET /quests`.',
  payload: published,
});

export const questWithdrawn = event({
  type: 'quest_withdrawn',
  category: 'gameplay',
  summary: 'A quest can no longer be completed: it was deleted or deactivated, or its window or burn event ended. Earned points stay.',
  payload: z.strictObject({ questId: Key }),
});

export const questCompleted = event({
  type: 'quest_completed',
  category: 'gameplay',
  summary: 'The wallet completed a quest or a daily task and received points. Sent to this wallet only.',
  payload: z.strictObject({
    questId: Key,
    title: z.string(),
    /** The key of the quest's window (the days that count for one completion): `once`, a UTC day (2026-11-21) or an ISO week (2026-W47). */
    window: Key,
    points: Count,
    task: z.boolean(),
  }),
});

export const questEvents = [questPublished, questChanged, questWithdrawn, questCompleted];
