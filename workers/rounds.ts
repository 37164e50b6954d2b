import * as lottery from '#areas/lottery';
import type * as jobs from '#jobs/rounds.ts';
import type { Handler } from './handler.ts';

export const advanceRound: Handler<typeof jobs.advanceRound> = (app, { round }) => lottery.advanceRound(app, round);
export const sweepRounds: Handler<typeof jobs.sweepRounds> = (app) => lottery.sweepRounds(app);
export const checkTicket: Handler<typeof jobs.checkTicket> = (app, { ticket }) => lottery.checkTicket(app, ticket);
export const sweepTickets: Handler<typeof jobs.sweepTickets> = (app) => lottery.sweepTickets(app);
export const scheduleRounds: Handler<typeof jobs.scheduleRounds> = (app) => lottery.runScheduler(app);
