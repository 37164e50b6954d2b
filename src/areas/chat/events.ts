import { z } from 'zod';
import { Instant } from '#lib/scalars.ts';
import { event } from '#platform/events/event.ts';

const Key = z.string().min(1).max(64);
const Address = z.string().min(1).max(64);

export const chatMessage = event({
  type: 'chat_message',
  category: 'chat',
  summary: 'A chat message of a wallet or of a bridged chat. `entryId` is set when the message made an entry.',
  payload: z.strictObject({
    messageId: Key,
    source: z.string().max(32),
    /** The author's wallet; null when a bridged author has linked no wallet. */
    wallet: Address.nullable(),
    /** Display name of a bridged author; null in the service's own chat. */
    handle: z.string().max(100).nullable(),
    text: z.string(),
    entryId: Key.nullable(),
  }),
});

export const chatModeration = event({
  type: 'chat_moderation',
  category: 'chat',
  summary: 'A message was deleted, or an author was muted, unmuted, banned or unbanned.',
  payload: z.strictObject({
    action: z.enum(['delete', 'mute', 'unmute', 'ban', 'unban']),
    messageId: Key.nullable(),
    wallet: Address.nullable(),
    /** End of the mute; null for any other action. */
    until: Instant.nullable(),
  }),
});

export const chatEvents = [chatMessage, chatModeration];
