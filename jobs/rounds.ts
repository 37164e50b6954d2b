import { z } from 'zod';
import { job } from './job.ts';

/** Takes a round as far as it can go. What stands in its way is found again by the sweep: the queue tries once. */
export const advanceRound = job({
  name: 'advance-round',
  queue: 'rounds',
  payload: z.strictObject({ round: z.uuid() }),
  attempts: 1,
  id: ({ round }) => `advance-round-${round}`,
});

/** Rings for rounds that can go on: closed by the clock, landed, drawn by the beacon. */
export const sweepRounds = job({
  name: 'sweep-rounds',
  queue: 'rounds',
  payload: z.strictObject({}),
  id: () => 'sweep-rounds',
  attempts: 1,
  everyMs: 1_000,
});

/** Looks at what a ticket was paid with. */
export const checkTicket = job({
  name: 'check-ticket',
  queue: 'rounds',
  payload: z.strictObject({ ticket: z.uuid() }),
  attempts: 1,
  id: ({ ticket }) => `check-ticket-${ticket}`,
});

/** Rings for tickets whose next look is due, or whose bell was lost. */
export const sweepTickets = job({
  name: 'sweep-tickets',
  queue: 'rounds',
  payload: z.strictObject({}),
  id: () => 'sweep-tickets',
  attempts: 1,
  everyMs: 1_000,
});

/** Starts the next round of the schedule, where it is due. */
export const scheduleRounds = job({
  name: 'schedule-rounds',
  queue: 'rounds',
  payload: z.strictObject({}),
  id: () => 'schedule-rounds',
  attempts: 1,
  everyMs: 1_000,
});
