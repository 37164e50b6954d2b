import { z } from 'zod';
import { job } from '#platform/jobs/job.ts';

/** Advances one round as far as possible. The sweep finds a round that could not advance, so the queue tries once. */
export const advanceRound = job({
  name: 'advance-round',
  queue: 'rounds',
  payload: z.strictObject({ round: z.uuid() }),
  attempts: 1,
  id: ({ round }) => `advance-round-${round}`,
});

/** Enqueues advanceRound for rounds that can advance: entry time over, commitment finalized, beacon round published. */
export const sweepRounds = job({
  name: 'sweep-rounds',
  queue: 'rounds',
  payload: z.strictObject({}),
  attempts: 1,
  id: () => 'sweep-rounds',
});

/** Checks the payment of one ticket on the chain. */
export const checkTicket = job({
  name: 'check-ticket',
  queue: 'rounds',
  payload: z.strictObject({ ticket: z.uuid() }),
  attempts: 1,
  id: ({ ticket }) => `check-ticket-${ticket}`,
});

/** Enqueues checkTicket for tickets whose next check is due or whose job was lost. */
export const sweepTickets = job({
  name: 'sweep-tickets',
  queue: 'rounds',
  payload: z.strictObject({}),
  attempts: 1,
  id: () => 'sweep-tickets',
});

/** Starts the next round of the schedule when it is due. */
export const scheduleRounds = job({
  name: 'schedule-rounds',
  queue: 'rounds',
  payload: z.strictObject({}),
  attempts: 1,
  id: () => 'schedule-rounds',
});
