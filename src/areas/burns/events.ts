import { z } from 'zod';
import { Count, Instant } from '#lib/scalars.ts';
import { event } from '#platform/events/event.ts';

const Key = z.string().min(1).max(64);
const Amount = z.string().regex(/^\d{1,40}$/);

export const burnEventActivated = event({
  type: 'burn_event_activated',
  category: 'system',
  summary: 'A burn event started. Burns with its memo count until it ends.',
  payload: z.strictObject({ burnEventId: Key, title: z.string(), mint: Key, endsAt: Instant }),
});

export const burnEventEnded = event({
  type: 'burn_event_ended',
  category: 'system',
  summary: 'A burn event ended. Burns from before its end may still be recorded.',
  payload: z.strictObject({ burnEventId: Key, title: z.string(), burnTotal: Amount, participants: Count }),
});

export const burnRecorded = event({
  type: 'burn_recorded',
  category: 'system',
  summary: 'A finalized burn counts for an event. `source` is null when the source in its memo was not valid for the wallet.',
  payload: z.strictObject({
    burnEventId: Key,
    wallet: z.string().min(1).max(64),
    amount: Amount,
    source: z.enum(['referral', 'game', 'social']).nullable(),
    signature: z.string().min(1).max(100),
    burnTotal: Amount,
  }),
});

export const burnEvents = [burnEventActivated, burnEventEnded, burnRecorded];
