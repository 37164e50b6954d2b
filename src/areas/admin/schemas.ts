import { z } from 'zod';
import { FreeJson, FreeObject, GameDefinition, GameId } from '#areas/arcade';
import { Count, Id, Instant, line, Slug } from '#lib/scalars.ts';
import { WEBHOOK_SOURCES } from '#platform/webhooks/config.ts';
import { DELIVERY_STATES } from '#platform/webhooks/inbox.ts';

const MAX_DISPLAY_BYTES = 16 * 1024;

export const GameIdPath = z.object({ id: GameId.meta({ description: 'The id of the game.' }) });
/** Path with a cabinet's id. Excludes `possess` and `release`, because other paths use these words in place of an id. */
export const CabinetIdPath = z.object({
  id: Slug.refine((id) => id !== 'possess' && id !== 'release', 'must not be a reserved word').meta({
    description: 'The id of the cabinet.',
    example: 'cabinet-1',
  }),
});

export const GameRequest = GameDefinition.safeExtend({
  secret: z
    .string()
    .min(16)
    .max(256)
    .refine((text) => text.isWellFormed() && !/\p{Cc}/u.test(text), 'must not contain control characters')
    .nullable()
    .optional()
    .meta({
      description:
        'HMAC secret for the signatures of scores. null removes the secret; without this field the secret stays. Responses never contain it.',
      example: null,
    }),
}).meta({
  id: 'GameRequest',
  example: {
    name: 'Star Raiders',
    category: 'shooter',
    normalization: { method: 'linear', min: 0, max: 100_000, direction: 'higher' },
    pointsPer10000: 500,
    caps: { dailyPoints: 5_000, scorePerSec: 400, minDurationMs: 15_000, maxDurationMs: 1_800_000 },
    verification: 'heartbeat',
  },
});

export const CabinetRequest = z
  .strictObject({
    gameId: z.string().meta({ example: 'star-raiders' }),
    display: FreeObject.refine(
      (display) => Buffer.byteLength(JSON.stringify(display)) <= MAX_DISPLAY_BYTES,
      `must be at most ${MAX_DISPLAY_BYTES} bytes of JSON`,
    ).meta({ description: 'Free-form data for front ends, such as name and position, up to 16 KB.' }),
  })
  .meta({ id: 'CabinetRequest', example: { gameId: 'star-raiders', display: { name: 'Star Raiders', position: { row: 1, column: 1 } } } });

/** A JSON merge patch of the theme. */
export const ThemePatch = FreeObject.meta({
  id: 'ThemePatch',
  description: 'A JSON merge patch (RFC 7386): objects are merged, null removes a member, anything else replaces.',
  example: { palette: { primary: '#00ff88' }, music: null },
});
export const ThemeView = z
  .strictObject({ theme: z.looseObject({}), version: z.int().min(0).meta({ description: 'Version of the theme; 0 before the first change.' }) })
  .meta({ id: 'Theme', example: { theme: { name: 'neon-night', palette: { primary: '#00ff88' } }, version: 2 } });

// 1970 to 9999, so that the end of an event stays a timestamp of four-digit years.
const StartsAt = Instant.refine((text) => text < '9999', 'must be before the year 9999');

export const ScheduledThemeRequest = z
  .strictObject({ startsAt: StartsAt.meta({ description: 'Time at which the change is applied; at once when in the past.' }), patch: ThemePatch })
  .meta({ id: 'ScheduledThemeRequest', example: { startsAt: '2026-12-24T00:00:00.000Z', patch: { palette: { primary: '#00ff88' } } } });
export const ScheduledThemeView = z
  .strictObject({
    id: Id,
    startsAt: Instant,
    patch: z.looseObject({}).meta({ example: { palette: { primary: '#00ff88' } } }),
    by: z.string().meta({ description: 'Name of the admin token.', example: 'admin-1' }),
    error: z.string().nullable().meta({ description: 'Reason why the change could not be applied; null while it waits.', example: null }),
  })
  .meta({ id: 'ScheduledTheme' });
export const ScheduledPath = z.object({ id: Id.meta({ description: 'The id of the scheduled theme or event.' }) });

const MAX_PAYLOAD_BYTES = 8 * 1024;
const EVENT = { name: 'meteor-shower', payload: { intensity: 3 } };

export const EventRequest = z
  .strictObject({
    name: line(100).meta({ description: 'Name of the event, for front ends: they identify the event by its name or show the name.' }),
    payload: FreeJson.refine(
      (payload) => payload === undefined || Buffer.byteLength(JSON.stringify(payload)) <= MAX_PAYLOAD_BYTES,
      `must be at most ${MAX_PAYLOAD_BYTES} bytes of JSON`,
    )
      .optional()
      .meta({ description: 'Free-form data for front ends, up to 8 KB.' }),
    durationSec: z
      .int()
      .min(1)
      .max(7 * 86_400)
      .default(60)
      .meta({ description: 'Time for which the event is active, seconds. The event is broadcast once.' }),
    startsAt: StartsAt.optional().meta({ description: 'Time at which the event begins; at once when absent or in the past.' }),
  })
  .meta({ id: 'ArcadeEventRequest', example: { ...EVENT, durationSec: 60 } });

export const EventReceipt = z.strictObject({ id: Id, name: z.string(), payload: z.unknown().optional(), startsAt: Instant, endsAt: Instant }).meta({
  id: 'ArcadeEvent',
  example: { ...EVENT, id: Id.meta()?.example, startsAt: '2026-11-21T12:00:00.000Z', endsAt: '2026-11-21T12:01:00.000Z' },
});

export const PossessRequest = z
  .strictObject({ cabinetId: Slug, by: line(64).meta({ description: 'The entity or character that takes control.' }) })
  .meta({ id: 'PossessRequest', example: { cabinetId: 'cabinet-1', by: 'the-ghost' } });

export const ReleaseRequest = z.strictObject({ cabinetId: Slug }).meta({ id: 'CabinetReleaseRequest', example: { cabinetId: 'cabinet-1' } });

const source = z.enum(WEBHOOK_SOURCES).meta({ description: 'The sender of the delivery.' });
const state = z.enum(DELIVERY_STATES).meta({
  description:
    'received: the delivery is waiting or is being processed. worked: the delivery was processed. failed: processing failed and is not retried.',
  example: 'worked',
});

export const DeliveryFilter = z.object({ source: source.optional(), state: state.optional() });
export const DeliveryPath = z.object({
  source: source.meta({ description: 'The sender of the delivery.', example: 'payment-status' }),
  id: z.string().min(1).max(512).meta({
    description: 'The header `webhook-id`; for deliveries from X, the hex SHA-256 of the body.',
    example: 'msg_2Lh9KRb0pzN4LePd3XiA4v12Axj',
  }),
});

const delivery = {
  ...DeliveryPath.shape,
  state,
  verdict: z
    .string()
    .nullable()
    .meta({ description: 'Result of the last attempt; null before the first attempt.', example: 'the payment is completed' }),
  attempts: Count.meta({ description: 'Attempts to process the delivery since its receipt or its last replay.', example: 1 }),
  bytes: Count.meta({ description: 'Size of the body, bytes.', example: 312 }),
  receivedAt: Instant,
  replayedAt: Instant.nullable().meta({ example: null }),
  settledAt: Instant.nullable(),
};
export const DeliveryView = z.strictObject(delivery).meta({ id: 'WebhookDelivery' });
export const DeliveryBody = z
  .strictObject({ ...delivery, body: z.string().meta({ description: 'The received body, unchanged.', example: '{"type":"payment.status"}' }) })
  .meta({ id: 'WebhookDeliveryWithBody' });

const hash = (description: string) => z.string().meta({ description, example: 'a3f5b1c2d4e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f80' });

export const AuditEntry = z
  .strictObject({
    id: z.string().meta({ description: 'Number of the entry, from 1 on without gaps.', example: '1204' }),
    at: Instant.meta({ description: 'Time of the request.' }),
    tokenName: z.string().meta({ description: 'Name of the admin token.', example: 'admin-1' }),
    method: z.string().meta({ example: 'POST' }),
    path: z.string().meta({ description: 'Path with the query string.', example: '/admin/theme' }),
    bodyHash: hash('SHA-256 of the received body, hex. For a streamed body, the SHA-256 of an empty body.'),
    previousHash: hash('Hash of the previous entry, hex; empty for the first entry.'),
    hash: hash(
      'SHA-256(previousHash ‖ the JSON array [id, at, tokenName, method, path, bodyHash]), hex. In the array, `at` has six decimals: …123000Z instead of …123Z.',
    ),
  })
  .meta({ id: 'AuditEntry' });
