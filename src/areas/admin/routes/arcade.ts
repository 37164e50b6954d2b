import {
  beginOneTimeEvent,
  CabinetView,
  expectedVersions,
  MAX_THEME_BYTES,
  mergeTheme,
  possessCabinet,
  releaseCabinet,
  versionTag,
} from '#areas/arcade';
import { reply, route } from '#platform/http/route.ts';
import { EventReceipt, EventRequest, PossessRequest, ReleaseRequest, ThemePatch, ThemeView } from '../schemas.ts';

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
  summary: 'Start a one-time event, such as an animation or an announcement',
  description: 'Broadcasts the event once, as `arcade_event`. The `activeEvents` of `/arcade/state` list it until it ends.',
  body: EventRequest,
  returns: { 201: EventReceipt },
  fails: [],
  idempotent: true,
  handler: ({ body, once }) =>
    once(async (tx) => {
      const { payload, ...event } = await beginOneTimeEvent(tx, body);
      return reply(201, { ...event, ...(payload === null ? {} : { payload }) });
    }),
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
export const arcadeOperationRoutes = [postTheme, postEvent, postPossess, postRelease];
