import { z } from 'zod';
import { Receipt } from '#areas/lottery';
import { Count, Id, Instant, line, Wallet } from '#lib/scalars.ts';

/** Characters of a message. */
const MOST_TEXT = 500;

export const MessageRequest = z
  .strictObject({
    text: line(MOST_TEXT).meta({
      description: 'One line. `!enter`, alone or with numbers, is an entry of the active round.',
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
        sequence: Count.meta({ description: 'Its index: 0, 1, 2, … in the order of acceptance.', example: 0 }),
        numbers: z.array(Count).meta({ description: 'Ascending.', example: [3, 7, 12, 30, 41] }),
        receipt: Receipt,
      })
      .optional()
      .meta({ description: 'Where the message was an entry.' }),
  })
  .meta({ id: 'ChatMessageReceipt' });

export const MessagesQuery = z.object({
  limit: z.coerce.number().int().min(1).max(200).default(50),
  before: Id.optional().meta({ description: 'A message’s id: only those before it.' }),
});

export const ChatMessages = z
  .strictObject({
    messages: z.array(
      z
        .strictObject({
          messageId: Id,
          source: z.string().meta({ description: '`chat`, or the bridged chat that it comes from.', example: 'chat' }),
          wallet: z.string().nullable().meta({ description: 'null where a bridged author has linked no wallet.' }),
          handle: z.string().nullable().meta({ description: 'Of a bridged author.', example: null }),
          text: z.string().meta({ example: 'good luck' }),
          entryId: Id.nullable(),
          at: Instant,
        })
        .meta({ id: 'ChatMessage' }),
    ),
    next: Id.nullable().meta({ description: '`before` of the next page; null where there is none.' }),
  })
  .meta({ id: 'ChatMessages' });

/** Names on other platforms: nothing that a database refuses, and short enough for an index. */
const Name = z
  .string()
  .min(1, 'must not be empty')
  .max(256, 'must be at most 256 characters')
  .refine((text) => text.isWellFormed() && !/\p{Cc}/u.test(text), 'must not hold control characters');
const Platform = z
  .string()
  .regex(/^[a-z0-9-]{1,32}$/, 'must be 1 to 32 lower-case letters, digits and hyphens')
  .refine((text) => text !== 'chat' && text !== 'chain', 'must not be chat or chain');
/** Other chats have messages of several lines, and ours have one. */
const BridgedText = z.preprocess((text) => (typeof text === 'string' ? text.replaceAll(/\p{Cc}+/gu, ' ') : text), line(MOST_TEXT));

/** A message of a bridged chat. Read loosely: bridges tell more than is asked. */
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

/** What a bridge delivers. Its fields are checked when it is worked on: one that is refused at once would come again and again. */
export const BridgedDelivery = z
  .looseObject({
    platform: z
      .unknown()
      .optional()
      .meta({ description: 'The chat: 1 to 32 lower-case letters, digits and hyphens; not `chat`, `chain`.', example: 'twitch' }),
    messageId: z.unknown().optional().meta({ description: 'What the message is called there, at most 256 characters.', example: 'a1b2c3' }),
    author: z
      .unknown()
      .optional()
      .meta({
        description: '`id`: what the account never changes, at most 256 characters. `handle`: what people see, at most 100.',
        example: { id: '12345', handle: 'ada' },
      }),
    text: z.unknown().optional().meta({ description: 'At most 500 characters.', example: '!enter' }),
    at: z.unknown().optional().meta({ description: 'When it was written, ISO 8601.', example: '2026-11-21T12:00:00.000Z' }),
  })
  .meta({ id: 'BridgedMessage' });

const whom = {
  wallet: Wallet.optional().meta({ description: 'With all accounts that are linked to it.' }),
  account: z.strictObject({ platform: Platform, id: Name }).optional().meta({ description: 'One account of a bridged chat.' }),
};
export const ModerationRequest = z
  .discriminatedUnion('action', [
    z.strictObject({ action: z.literal('delete'), messageId: Id }),
    z.strictObject({ action: z.literal('mute'), ...whom, minutes: z.int().min(1).max(43_200) }),
    z.strictObject({ action: z.enum(['unmute', 'ban', 'unban']), ...whom }),
  ])
  .refine((body) => body.action === 'delete' || (body.wallet === undefined) !== (body.account === undefined), {
    path: ['wallet'],
    error: 'or account must be given, one of the two',
  })
  .meta({ id: 'ChatModerationRequest', example: { action: 'mute', wallet: '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin', minutes: 60 } });
export type ModerationRequest = z.output<typeof ModerationRequest>;

export const Moderation = z
  .strictObject({
    action: z.enum(['delete', 'mute', 'unmute', 'ban', 'unban']),
    messageId: Id.nullable(),
    wallet: z.string().nullable(),
    account: z.strictObject({ platform: z.string(), id: z.string() }).nullable(),
    until: Instant.nullable().meta({ description: 'When a mute ends.' }),
  })
  .meta({ id: 'ChatModeration' });

const Check = z.enum(['ok', 'failed']);
export const ChatStatus = z
  .strictObject({
    status: z.enum(['ok', 'degraded', 'down']).meta({
      description: 'down: no messages are taken. degraded: they are, but the stream lags by more than 5 s, or a round is stuck.',
    }),
    takesMessages: z.boolean(),
    checks: z.strictObject({ database: Check, redis: Check }),
    activeRound: z
      .strictObject({ id: Id, closesAt: Instant })
      .nullable()
      .meta({ description: 'Where `!enter` goes. null too while the database does not answer, as all that follows.' }),
    messagesLastMinute: Count.nullable(),
    lastMessageAt: Instant.nullable(),
    streamLagMs: Count.nullable().meta({
      description: 'Age of the oldest event that the stream does not have yet; 0 when it has them all.',
      example: 0,
    }),
    stuckRounds: Count.nullable().meta({
      description: 'Rounds that should be further on: a minute past their end and not closed, an hour closed and not committed, or overdue.',
      example: 0,
    }),
  })
  .meta({ id: 'ChatStatus' });
export type ChatStatus = z.output<typeof ChatStatus>;
