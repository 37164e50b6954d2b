import { fail } from '#lib/errors.ts';
import { reply, route } from '#platform/http/route.ts';
import { scheduleStatus, startSchedule, stopSchedule } from './schedule.ts';
import { AutoStart, AutoStatus } from './schemas.ts';

const YEAR_MS = 366 * 86_400_000;

export const postStart = route({
  method: 'post',
  path: '/auto/start',
  auth: { admin: 'rounds' },
  summary: 'Keep chat rounds coming',
  description:
    'The first round begins at startAt, or now, and one more at each interval. One at a time: while a round is active, the next one waits, and of the times that pass meanwhile, ' +
    'or while the service is down, one is made up for. While it runs, interval and template are replaced: without startAt the next round stays when it is due, ' +
    'or comes earlier where the new interval says so. A round that was refused, for prizes that the treasury does not hold, is tried again, with the present template.',
  body: AutoStart,
  returns: { 200: AutoStatus },
  fails: [],
  handler: async ({ app, body, admin }) => {
    const { startAt } = body;
    if (startAt && Math.abs(Date.parse(startAt) - app.clock.now().getTime()) > YEAR_MS) throw fail(400, 'startAt must be within a year');
    return reply(200, await app.tx((tx) => startSchedule(tx, body, admin)));
  },
});

export const postStop = route({
  method: 'post',
  path: '/auto/stop',
  auth: { admin: 'rounds' },
  summary: 'Make no further rounds',
  description: 'A round that has begun goes on. Stopping what is stopped changes nothing.',
  returns: { 200: AutoStatus },
  fails: [],
  handler: async ({ app }) => reply(200, await app.tx(stopSchedule)),
});

export const getStatus = route({
  method: 'get',
  path: '/auto/status',
  auth: { admin: 'rounds' },
  summary: 'How the schedule of chat rounds stands',
  returns: { 200: AutoStatus },
  fails: [],
  handler: async ({ app }) => reply(200, await scheduleStatus(app.db)),
});

export const schedulerRoutes = { public: [], session: [], admin: [postStart, postStop, getStatus] };
