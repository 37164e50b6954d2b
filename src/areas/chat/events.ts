import { z } from 'zod';
import { event } from '#platform/events/event.ts';

const Key = z.string().min(1).max(64);
const Address = z.string().min(1).max(64);
const At = z.iso.datetime();

export const chatMessage = event({
  type: 'chat_message',
  category: 'chat',
  summary: 'A message in chat: of a wallet, or of a bridged chat. `entryId` where it was an entry.',
  payload: z.strictObject({
    messageId: Key,
    source: z.string().max(32),
    /** null where a bridged author has linked no wallet. */
    wallet: Address.nullable(),
    /** Of a bridged author. */
    handle: z.string().max(100).nullable(),
    text: z.string(),
    entryId: Key.nullable(),
  }),
});

export const chatModeration = event({
  type: 'chat_moderation',
  category: 'chat',
  summary: 'A message is to be shown no longer, or somebody may (or may again) not write.',
  payload: z.strictObject({
    action: z.enum(['delete', 'mute', 'unmute', 'ban', 'unban']),
    messageId: Key.nullable(),
    wallet: Address.nullable(),
    /** When a mute ends. */
    until: At.nullable(),
  }),
});

/** Every event of this area. */
export const chatEvents = [chatMessage, chatModeration];
