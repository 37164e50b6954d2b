import { z } from 'zod';
import {
  beginOneTimeEvent,
  CabinetView,
  cancelOneTimeEvent,
  cancelTheme,
  expectedVersions,
  MAX_THEME_BYTES,
  mergeTheme,
  type OneTimeEvent,
  possessCabinet,
  readOneTimeEvents,
  readScheduledThemes,
  releaseCabinet,
  scheduleTheme,
  versionTag,
} from '#areas/arcade';
import { PageQuery } from '#lib/paging.ts';
import { reply, route } from '#platform/http/route.ts';
import {
  EventReceipt,
  EventRequest,
  PossessRequest,
  ReleaseRequest,
  ScheduledPath,
  ScheduledThemeRequest,
  ScheduledThemeView,
  ThemePatch,
  ThemeView,
} from '../schemas.ts';

const presentEvent = ({ payload, ...event }: OneTimeEvent) => ({ ...event, ...(payload === null ? {} : { payload }) });

const postTheme = route({
  method: 'post',
  path: '/admin/theme',
  auth: { admin: 'content' },
  summary: 'Change the theme of the arcade',
  description:
    'Applies the body to the current theme as a JSON merge patch (RFC 7386). The merged theme is at most ' +
    `${MAX_THEME_BYTES / 1024} KB. The service keeps every version. The ETag is the version. With If-Match, the request changes only the named version. A patch that changes nothing keeps the version.`,
  body: ThemePatch,
  returns: { 200: ThemeView },
  fails: [412],
  handler: async ({ app, body, ctx }) => {
    const merged = await app.tx((tx) => mergeTheme(tx, body, expectedVersions(ctx)));
    return reply(200, merged, { ETag: versionTag(merged.version) });
  },
});

const postEvent = route({
  method: 'post',
  path: '/admin/event',
  auth: { admin: 'content' },
  summary: 'Start or schedule a one-time event, such as an animation or an announcement',
  description:
    'Broadcasts the event once, as `arcade_event`, when it begins: at once, or at `startsAt`. The `activeEvents` of `/arcade/state` list it from then until it ends.',
  body: EventRequest,
  returns: { 201: EventReceipt },
  fails: [],
  idempotent: true,
  handler: ({ body, once }) => once(async (tx) => reply(201, presentEvent(await beginOneTimeEvent(tx, body)))),
});

const getEvents = route({
  method: 'get',
  path: '/admin/events',
  auth: { admin: 'content' },
  summary: 'List one-time events, also scheduled and ended ones',
  description: 'Latest start first.',
  query: PageQuery,
  returns: { 200: z.array(EventReceipt) },
  fails: [],
  handler: async ({ app, query: { limit, offset } }) => {
    const { events, total } = await readOneTimeEvents(app.db, limit, offset);
    return reply(200, events.map(presentEvent), { 'X-Total-Count': String(total) });
  },
});

const removeEvent = route({
  method: 'delete',
  path: '/admin/events/{id}',
  auth: { admin: 'content' },
  summary: 'Cancel a scheduled one-time event',
  description: '409 if the event has begun.',
  params: ScheduledPath,
  returns: { 204: null },
  fails: [404, 409],
  handler: async ({ app, params }) => {
    await app.tx((tx) => cancelOneTimeEvent(tx, params.id));
    return reply(204, null);
  },
});

const postScheduledTheme = route({
  method: 'post',
  path: '/admin/theme/schedule',
  auth: { admin: 'content' },
  summary: 'Schedule a change of the theme',
  description:
    'Within about a second of `startsAt`, the patch is applied to the theme as it is then, as a JSON merge patch (RFC 7386). 409: 100 changes are scheduled already.',
  body: ScheduledThemeRequest,
  returns: { 201: ScheduledThemeView },
  fails: [409],
  idempotent: true,
  handler: async ({ body, admin, once }) => await once(async (tx) => reply(201, await scheduleTheme(tx, body, admin))),
});

const getScheduledThemes = route({
  method: 'get',
  path: '/admin/theme/schedule',
  auth: { admin: 'content' },
  summary: 'List the scheduled changes of the theme',
  description: 'Next start first, with the changes that could not be applied.',
  returns: { 200: z.array(ScheduledThemeView).max(100) },
  fails: [],
  handler: async ({ app }) => reply(200, await readScheduledThemes(app.db)),
});

const removeScheduledTheme = route({
  method: 'delete',
  path: '/admin/theme/schedule/{id}',
  auth: { admin: 'content' },
  summary: 'Cancel a scheduled change of the theme',
  params: ScheduledPath,
  returns: { 204: null },
  fails: [404],
  handler: async ({ app, params }) => {
    await app.tx((tx) => cancelTheme(tx, params.id));
    return reply(204, null);
  },
});

const postPossess = route({
  method: 'post',
  path: '/admin/cabinet/possess',
  auth: { admin: 'content' },
  summary: 'Give a character or entity control of a cabinet',
  description: '409 if any entity possesses the cabinet already.',
  body: PossessRequest,
  returns: { 200: CabinetView },
  fails: [404, 409],
  handler: async ({ app, body }) => reply(200, await app.tx((tx) => possessCabinet(tx, body.cabinetId, body.by))),
});

const postRelease = route({
  method: 'post',
  path: '/admin/cabinet/release',
  auth: { admin: 'content' },
  summary: 'Return a cabinet to normal operation',
  description: '409 if no entity possesses the cabinet.',
  body: ReleaseRequest,
  returns: { 200: CabinetView },
  fails: [404, 409],
  handler: async ({ app, body }) => reply(200, await app.tx((tx) => releaseCabinet(tx, body.cabinetId))),
});

/** Endpoints that change the theme, start one-time events, and give or end control of cabinets. */
export const arcadeOperationRoutes = [
  postTheme,
  postScheduledTheme,
  getScheduledThemes,
  removeScheduledTheme,
  postEvent,
  getEvents,
  removeEvent,
  postPossess,
  postRelease,
];
