import { z } from 'zod';
import { Receipt } from '#areas/lottery';
import { Count, Id, Instant, line, Wallet } from '#lib/scalars.ts';
import { MAX_SLOW_MODE_SEC } from './limits.ts';

/** Maximum characters of a message. */
const MAX_TEXT = 500;

export const MessageRequest = z
  .strictObject({
    text: line(MAX_TEXT).meta({
      description: 'One line of text. `!enter`, alone or with numbers, makes an entry of the active round.',
      example: '!enter 3 7 12 30 41',
    }),
  })
  .meta({ id: 'ChatMessageRequest' });

export const MessageReceipt = z
  .strictObject({
    messageId: Id,
    entry: z
      .strictObject({
        id: Id,
        sequence: Count.meta({ description: 'Index of the entry in the order of acceptance, starting at 0.', example: 0 }),
        numbers: z.array(Count).meta({ description: 'The numbers in ascending order.', example: [3, 7, 12, 30, 41] }),
        receipt: Receipt,
      })
      .optional()
      .meta({ description: 'The entry that the message made, if any.' }),
  })
  .meta({ id: 'ChatMessageReceipt' });

export const MessagesQuery = z.object({
  limit: z.coerce.number().int().min(1).max(200).default(50).meta({ description: 'Maximum number of messages.' }),
  before: Id.optional().meta({ description: 'Id of a message; only older messages are returned.' }),
});

export const ChatMessages = z
  .strictObject({
    messages: z.array(
      z
        .strictObject({
          messageId: Id,
          source: z.string().meta({ description: '`chat` for the service’s own chat, or the name of the bridged chat.', example: 'chat' }),
          wallet: z.string().nullable().meta({ description: 'The author’s wallet; null when a bridged author has linked no wallet.' }),
          handle: z.string().nullable().meta({ description: 'Display name of a bridged author.', example: null }),
          text: z.string().meta({ example: 'good luck' }),
          entryId: Id.nullable(),
          at: Instant,
        })
        .meta({ id: 'ChatMessage' }),
    ),
    next: Id.nullable().meta({ description: 'Value of `before` for the next page; null on the last page.' }),
  })
  .meta({ id: 'ChatMessages' });

/** A name or id on another platform: text that PostgreSQL can store and that is short enough for an index. */
const Name = z
  .string()
  .min(1, 'must not be empty')
  .max(256, 'must be at most 256 characters')
  .refine((text) => text.isWellFormed() && !/\p{Cc}/u.test(text), 'must not contain control characters');
const Platform = z
  .string()
  .regex(/^[a-z0-9-]{1,32}$/, 'must be 1 to 32 lower-case letters, digits and hyphens')
  .refine((text) => text !== 'chat' && text !== 'chain', 'must not be chat or chain');
/** Text of a bridged message. Line breaks become spaces, because the service stores messages of one line. */
const BridgedText = z.preprocess((text) => (typeof text === 'string' ? text.replaceAll(/\p{Cc}+/gu, ' ') : text), line(MAX_TEXT));

/** A message of a bridged chat. Unknown fields are allowed, because bridges send more fields than the service uses. */
export const BridgedMessage = z.looseObject({
  platform: Platform,
  messageId: Name,
  author: z.looseObject({ id: Name, handle: line(100) }),
  text: BridgedText,
  at: z.iso
    .datetime({ offset: true, error: 'must be an ISO 8601 date and time' })
    .refine((text) => Date.parse(text) >= 0, 'must be an ISO 8601 date and time, of 1970 or later')
    .transform((text) => new Date(text).toISOString()),
});
export type BridgedMessage = z.output<typeof BridgedMessage>;

/**
 * A webhook delivery from a bridge (a program that forwards messages from another platform). The endpoint accepts any values and a worker validates
 * them later, because a bridge would resend a delivery that the endpoint refuses.
 */
export const BridgedDelivery = z
  .looseObject({
    platform: z
      .unknown()
      .optional()
      .meta({ description: 'Name of the bridged chat: 1 to 32 lower-case letters, digits and hyphens; not `chat` or `chain`.', example: 'twitch' }),
    messageId: z.unknown().optional().meta({ description: 'Id of the message in the bridged chat, at most 256 characters.', example: 'a1b2c3' }),
    author: z
      .unknown()
      .optional()
      .meta({
        description: '`id`: the permanent id of the account, at most 256 characters. `handle`: the display name, at most 100 characters.',
        example: { id: '12345', handle: 'ada' },
      }),
    text: z.unknown().optional().meta({ description: 'The message, at most 500 characters.', example: '!enter' }),
    at: z.unknown().optional().meta({ description: 'Time of writing, ISO 8601.', example: '2026-11-21T12:00:00.000Z' }),
  })
  .meta({ id: 'BridgedMessage' });

const reason = line(200).optional().meta({ description: 'Why; the author can read it.' });
const target = {
  wallet: Wallet.optional().meta({ description: 'A wallet, with all accounts that are linked to it.' }),
  account: z.strictObject({ platform: Platform, id: Name }).optional().meta({ description: 'One account of a bridged chat.' }),
};
export const ModerationRequest = z
  .discriminatedUnion('action', [
    z.strictObject({ action: z.literal('delete'), messageId: Id, reason }),
    z.strictObject({ action: z.literal('mute'), ...target, minutes: z.int().min(1).max(43_200), reason }),
    z.strictObject({ action: z.enum(['unmute', 'ban', 'unban']), ...target, reason }),
  ])
  .refine((body) => body.action === 'delete' || (body.wallet === undefined) !== (body.account === undefined), {
    path: ['wallet'],
    error: 'or account must be given, but not both',
  })
  .meta({
    id: 'ChatModerationRequest',
    example: { action: 'mute', wallet: '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin', minutes: 60, reason: 'spam' },
  });
export type ModerationRequest = z.output<typeof ModerationRequest>;

export const Moderation = z
  .strictObject({
    action: z.enum(['delete', 'mute', 'unmute', 'ban', 'unban']),
    messageId: Id.nullable(),
    wallet: z.string().nullable(),
    account: z.strictObject({ platform: z.string(), id: z.string() }).nullable(),
    until: Instant.nullable().meta({ description: 'End of the mute.' }),
  })
  .meta({ id: 'ChatModeration' });

export const SlowMode = z
  .strictObject({
    seconds: Count.max(MAX_SLOW_MODE_SEC).meta({
      description: 'Seconds that an author waits between two messages; 0 without slow mode.',
      example: 10,
    }),
  })
  .meta({ id: 'ChatSlowMode' });

/** A message as its author sees it, also after its deletion. */
export const OwnMessage = z
  .strictObject({
    messageId: Id,
    source: z.string().meta({ description: '`chat` for the service’s own chat, or the name of the bridged chat.', example: 'chat' }),
    text: z.string().nullable().meta({ description: 'Null after the deletion of the text.', example: 'good luck' }),
    entryId: Id.nullable(),
    at: Instant,
    deletedAt: Instant.nullable().meta({ example: null }),
    deletedReason: z.string().nullable().meta({ description: 'Why a moderator deleted the text; null without a reason.', example: null }),
  })
  .meta({ id: 'OwnChatMessage' });

const Check = z.enum(['ok', 'failed']);
export const ChatStatus = z
  .strictObject({
    status: z.enum(['ok', 'degraded', 'down']).meta({
      description:
        'down: chat accepts no messages. degraded: chat accepts messages, but the event stream lags by more than 5 s, or a round is stuck.',
    }),
    takesMessages: z.boolean(),
    checks: z.strictObject({ database: Check, redis: Check }),
    slowModeSec: Count.nullable().meta({
      description: 'Seconds that an author waits between two messages; 0 without slow mode; null while the database does not answer.',
      example: 0,
    }),
    activeRound: z
      .strictObject({ id: Id, closesAt: Instant })
      .nullable()
      .meta({ description: 'The round that accepts entries, or null. This and the following fields are null while the database does not answer.' }),
    currentRound: z
      .strictObject({
        id: Id,
        status: z
          .enum(['active', 'closing', 'committed'])
          .meta({ description: 'active: accepts entries until `closesAt`. closing, committed: closed, not drawn yet.', example: 'committed' }),
        closesAt: Instant.meta({ description: 'Closing time, also after the round is closed.' }),
        drawDueAt: Instant.nullable().meta({ description: 'Time from which the round can be drawn; null before its commitment is final.' }),
      })
      .nullable()
      .meta({
        description: 'The round that is active; without an active round, the newest round that is closed and not drawn yet; null without both.',
      }),
    messagesLastMinute: Count.nullable(),
    lastMessageAt: Instant.nullable(),
    streamLagMs: Count.nullable().meta({
      description: 'Age of the oldest event that is not published to the stream yet; 0 when all are published.',
      example: 0,
    }),
    stuckRounds: Count.nullable().meta({
      description:
        'Number of delayed rounds: not closed a minute after the closing time, not committed an hour after closing, or not drawn an hour after the beacon round was due.',
      example: 0,
    }),
  })
  .meta({ id: 'ChatStatus' });
export type ChatStatus = z.output<typeof ChatStatus>;
