import { z } from 'zod';
import { FreeJson, FreeObject, GameDefinition, GameId } from '#areas/arcade';
import { WEBHOOK_SOURCES } from '#config';
import { Id, Instant, line, Slug } from '#lib/scalars.ts';
import { DELIVERY_STATES } from '#platform/webhooks/inbox.ts';

const MAX_DISPLAY_BYTES = 16 * 1024;

export const GameIdPath = z.object({ id: GameId });
/** `possess` and `release` stand where a cabinet's id would. */
export const CabinetIdPath = z.object({ id: Slug.refine((id) => id !== 'possess' && id !== 'release', 'must not be a reserved word') });

export const GameRequest = GameDefinition.safeExtend({
  secret: z
    .string()
    .min(16)
    .max(256)
    .refine((text) => text.isWellFormed() && !/\p{Cc}/u.test(text), 'must not hold control characters')
    .nullable()
    .optional()
    .meta({ description: 'Signs scores from now on; null removes it, absent keeps it. It is never shown again.', example: null }),
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
    ).meta({ description: 'Name, position, whatever a front end shows it by; free-form, up to 16 KB.' }),
  })
  .meta({ id: 'CabinetRequest', example: { gameId: 'star-raiders', display: { name: 'Star Raiders', position: { row: 1, column: 1 } } } });

/** A merge patch of the theme, and the theme that comes of it. */
export const ThemePatch = FreeObject.meta({
  id: 'ThemePatch',
  description: 'A JSON merge patch (RFC 7386): objects are merged, null removes a member, anything else replaces.',
  example: { palette: { primary: '#00ff88' }, music: null },
});
export const ThemeView = z
  .strictObject({ theme: z.looseObject({}), version: z.int().min(0).meta({ description: '0 while nobody has set one.' }) })
  .meta({ id: 'Theme', example: { theme: { name: 'neon-night', palette: { primary: '#00ff88' } }, version: 2 } });

const MAX_PAYLOAD_BYTES = 8 * 1024;
const EVENT = { name: 'meteor-shower', payload: { intensity: 3 } };

export const EventRequest = z
  .strictObject({
    name: line(100).meta({ description: 'What front ends know it by, or show.' }),
    payload: FreeJson.refine(
      (payload) => payload === undefined || Buffer.byteLength(JSON.stringify(payload)) <= MAX_PAYLOAD_BYTES,
      `must be at most ${MAX_PAYLOAD_BYTES} bytes of JSON`,
    )
      .optional()
      .meta({ description: 'Free-form, up to 8 KB.' }),
    durationSec: z
      .int()
      .min(1)
      .max(7 * 86_400)
      .default(60)
      .meta({ description: 'How long it is among the active events; it is broadcast once.' }),
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

const source = z.enum(WEBHOOK_SOURCES);
const state = z.enum(DELIVERY_STATES).meta({ description: 'received: it waits, or is being worked on.', example: 'worked' });

export const DeliveryFilter = z.object({ source: source.optional(), state: state.optional() });
export const DeliveryPath = z.object({
  source: source.meta({ example: 'payment-status' }),
  id: z.string().min(1).max(512).meta({ description: '`webhook-id`; of X the hex SHA-256 of the body.', example: 'msg_2Lh9KRb0pzN4LePd3XiA4v12Axj' }),
});

const delivery = {
  ...DeliveryPath.shape,
  state,
  verdict: z
    .string()
    .nullable()
    .meta({ description: 'What came of it, or of the last try; null before the first.', example: 'the payment is completed' }),
  attempts: z.int().meta({ description: 'Tries, since it was replayed.', example: 1 }),
  bytes: z.int().meta({ description: 'Size of the body.', example: 312 }),
  receivedAt: Instant,
  replayedAt: Instant.nullable().meta({ example: null }),
  settledAt: Instant.nullable(),
};
export const DeliveryView = z.strictObject(delivery).meta({ id: 'WebhookDelivery' });
export const DeliveryBody = z
  .strictObject({ ...delivery, body: z.string().meta({ description: 'As it came.', example: '{"type":"payment.status"}' }) })
  .meta({ id: 'WebhookDeliveryWithBody' });

const hash = (description: string) => z.string().meta({ description, example: 'a3f5b1c2d4e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f80' });

export const AuditEntry = z
  .strictObject({
    id: z.string().meta({ description: 'From 1 on, without gaps.', example: '1204' }),
    at: Instant.meta({ description: 'To the microsecond.', example: '2026-11-21T12:00:00.123456Z' }),
    tokenName: z.string().meta({ description: 'Which admin token it was.', example: 'admin-1' }),
    method: z.string().meta({ example: 'POST' }),
    path: z.string().meta({ description: 'With the query.', example: '/admin/theme' }),
    bodyHash: hash('SHA-256 of the body as it came, hex; of a streamed body that of nothing.'),
    previousHash: hash('The hash of the entry before, hex; empty for the first.'),
    hash: hash('SHA-256(previousHash ‖ the JSON array [id, at, tokenName, method, path, bodyHash]), hex.'),
  })
  .meta({ id: 'AuditEntry' });
