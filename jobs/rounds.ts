import { z } from 'zod';
import { job } from '#platform/jobs/job.ts';

/**
 * Advances one lottery round as far as possible. The queue attempts the job once, because sweepRounds enqueues it again if the round could not
 * advance.
 */
export const advanceRound = job({
  name: 'advance-round',
  queue: 'rounds',
  payload: z.strictObject({ round: z.uuid(), kind: z.enum(['chat', 'legacy']) }),
  attempts: 1,
  id: ({ round }) => `advance-round-${round}`,
  // Any wallet can open legacy rounds, so they run after the chat rounds of operators and after all other jobs of the queue, which have no priority.
  priority: ({ kind }) => (kind === 'chat' ? 0 : 1),
});

/**
 * Enqueues advanceRound for lottery rounds that can advance: the entry time is over, the round's commitment is finalized on the chain, or the round's
 * beacon round is published.
 */
export const sweepRounds = job({
  name: 'sweep-rounds',
  queue: 'rounds',
  payload: z.strictObject({}),
  attempts: 1,
  id: () => 'sweep-rounds',
});

/** Checks the payment of one lottery ticket on the chain. */
export const checkTicket = job({
  name: 'check-ticket',
  queue: 'rounds',
  payload: z.strictObject({ ticket: z.uuid() }),
  attempts: 1,
  id: ({ ticket }) => `check-ticket-${ticket}`,
});

/** Enqueues checkTicket for lottery tickets whose next check is due or whose job was lost. */
export const sweepTickets = job({
  name: 'sweep-tickets',
  queue: 'rounds',
  payload: z.strictObject({}),
  attempts: 1,
  id: () => 'sweep-tickets',
});

/** Finds payments for tickets on the chain that no wallet has named in a request, and records their tickets. */
export const findTicketPayments = job({
  name: 'find-ticket-payments',
  queue: 'rounds',
  payload: z.strictObject({}),
  attempts: 1,
  id: () => 'find-ticket-payments',
});

/** Starts the next lottery round of the schedule when it is due. */
export const scheduleRounds = job({
  name: 'schedule-rounds',
  queue: 'rounds',
  payload: z.strictObject({}),
  attempts: 1,
  id: () => 'schedule-rounds',
});
