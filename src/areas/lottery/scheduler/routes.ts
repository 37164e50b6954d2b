import { fail } from '#lib/errors.ts';
import { reply, route } from '#platform/http/route.ts';
import { scheduleStatus, startSchedule, stopSchedule } from './schedule.ts';
import { AutoStart, AutoStatus } from './schemas.ts';

const YEAR_MS = 366 * 86_400_000;

export const postStart = route({
  method: 'post',
  path: '/auto/start',
  auth: { admin: 'rounds' },
  summary: 'Start the schedule of chat rounds',
  description:
    'The first round starts at `startAt`, or now if it is missing; another round starts after each interval. Only one round is active at a time: the next one waits. ' +
    'When several start times pass meanwhile, or while the service is down, only one round is started for them. When the schedule already runs, interval and template ' +
    'are replaced; without `startAt` the next round keeps its start time, or gets an earlier one if the new interval is shorter. A round that could not start, for ' +
    'example because the treasury does not hold its prizes, is retried with the current template.',
  body: AutoStart,
  returns: { 200: AutoStatus },
  fails: [],
  handler: async ({ app, body, admin }) => {
    const { startAt } = body;
    if (startAt && Math.abs(Date.parse(startAt) - app.clock.now().getTime()) > YEAR_MS) throw fail(400, 'startAt must be less than a year away');
    return reply(200, await app.tx((tx) => startSchedule(tx, body, admin)));
  },
});

export const postStop = route({
  method: 'post',
  path: '/auto/stop',
  auth: { admin: 'rounds' },
  summary: 'Stop the schedule of chat rounds',
  description: 'No further round is started. A started round continues. Idempotent.',
  returns: { 200: AutoStatus },
  fails: [],
  handler: async ({ app }) => reply(200, await app.tx(stopSchedule)),
});

export const getStatus = route({
  method: 'get',
  path: '/auto/status',
  auth: { admin: 'rounds' },
  summary: 'The status of the schedule of chat rounds',
  returns: { 200: AutoStatus },
  fails: [],
  handler: async ({ app }) => reply(200, await scheduleStatus(app.db)),
});

export const schedulerRoutes = [postStart, postStop, getStatus];
