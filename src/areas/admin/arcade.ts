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
import { EventReceipt, EventRequest, PossessRequest, ReleaseRequest, ThemePatch, ThemeView } from './schemas.ts';

const postTheme = route({
  method: 'post',
  path: '/admin/theme',
  auth: { admin: 'content' },
  summary: 'Change the theme of the arcade',
  description:
    'Merged into the present theme as a JSON merge patch (RFC 7386); the sum is at most ' +
    `${MAX_THEME_BYTES / 1024} KB. Each version is kept; the ETag names it, with If-Match only that version is changed. What changes nothing keeps its version.`,
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
  summary: 'Begin a one-time event: an animation, an announcement',
  description: 'Broadcast once, as `arcade_event`; among the `activeEvents` of `/arcade/state` until it ends.',
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
  summary: 'Give a cabinet into the control of a character or entity',
  description: '409 when it is possessed already, by whomever.',
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
  description: '409 when nobody possesses it.',
  body: ReleaseRequest,
  returns: { 200: CabinetView },
  fails: [404, 409],
  handler: async ({ app, body }) => reply(200, await app.tx((tx) => releaseCabinet(tx, body.cabinetId))),
});

/** Theme, one-time events, possession of cabinets. */
export const arcadeOperations = [postTheme, postEvent, postPossess, postRelease];
