import { z } from 'zod';
import { receiptOf } from '#areas/lottery';
import { PageQuery } from '#lib/paging.ts';
import { reply, route } from '#platform/http/route.ts';
import { processWebhook } from '#platform/webhooks/jobs.ts';
import { Acknowledged, acknowledged } from '#platform/webhooks/receive.ts';
import { setSlowMode } from './limits.ts';
import { listMessages, listOwnMessages } from './messages.ts';
import { moderate } from './moderate.ts';
import {
  BridgedDelivery,
  ChatMessages,
  ChatStatus,
  MessageReceipt,
  MessageRequest,
  MessagesQuery,
  Moderation,
  ModerationRequest,
  OwnMessage,
  SlowMode,
} from './schemas.ts';
import { chatStatus } from './status.ts';
import { submitMessage } from './submit.ts';

const postMessage = route({
  method: 'post',
  path: '/chat/message',
  auth: 'session',
  summary: 'Send a chat message, or enter the active round',
  description:
    'The text `!enter` or `!enter 3 7 12 30 41` makes an entry of the active round. Missing numbers are derived from the entry’s id and the wallet. ' +
    '400: the numbers are wrong. 403: the wallet is muted or banned, or does not meet a rule of the round, or may not enter a round with prizes in stablecoin (deny list, self-exclusion); the error begins with the rule. 409: no round accepts entries, or the wallet has the maximum number of entries. ' +
    '429: the wallet sends too many messages, must wait in slow mode, or all wallets together send too many messages; entries count only for the first of these limits. ' +
    'A refused message is not stored. The receipt is signed with a key of `/.well-known/coinop-keys`.',
  body: MessageRequest,
  returns: { 201: MessageReceipt },
  fails: [403, 409, 429],
  idempotent: true,
  handler: async ({ app, wallet, body, idempotencyKey }) => {
    const { messageId, entry } = await submitMessage(app, wallet, body.text, idempotencyKey);
    if (entry === null) return reply(201, { messageId });
    const { id, index, numbers } = entry;
    return reply(201, { messageId, entry: { id, sequence: index, numbers: [...numbers], receipt: receiptOf(app, entry) } });
  },
});

const getMessages = route({
  method: 'get',
  path: '/chat/messages',
  auth: 'public',
  summary: 'List the latest messages, newest first',
  description: 'For clients that join the chat. Later changes arrive as events `chat_message` and `chat_moderation`.',
  query: MessagesQuery,
  returns: { 200: ChatMessages },
  fails: [],
  handler: async ({ app, query }) => {
    const messages = await listMessages(app.db, query.before ?? null, query.limit);
    return reply(200, { messages, next: messages.length === query.limit ? (messages.at(-1)?.messageId ?? null) : null });
  },
});

const getStatus = route({
  method: 'get',
  path: '/chat/status',
  auth: 'public',
  summary: 'The status of chat',
  description:
    'Whether chat accepts messages, which round accepts entries, the number of recent messages, and the lag of the event stream. At most 1 s old.',
  returns: { 200: ChatStatus },
  fails: [],
  handler: async ({ app }) => reply(200, await chatStatus(app)),
});

const postBridgedMessage = route({
  method: 'post',
  path: '/integrations/chat/messages',
  auth: { webhook: 'chat-bridge' },
  summary: 'Deliver a message of a bridged chat',
  description:
    'The delivery is stored and acknowledged; a worker processes it later. The list of deliveries shows the verdict. The message appears with the author’s handle, ' +
    'and with the wallet if the account is linked. `!enter …` makes an entry only if the account was linked before the round opened; otherwise the message appears ' +
    'without an entry. Messages with wrong numbers, of muted or banned authors, or above the rate limit do not appear. Idempotent per platform and messageId.',
  body: BridgedDelivery,
  returns: { 200: Acknowledged },
  fails: [],
  handler: ({ delivery, once }) =>
    once(async (tx) => {
      tx.enqueue(processWebhook, { source: 'chat-bridge', id: delivery.id });
      return acknowledged();
    }),
});

const getOwnMessages = route({
  method: 'get',
  path: '/me/chat/messages',
  auth: 'session',
  forBanned: true,
  summary: 'List the caller’s chat messages, newest first',
  description: 'Also messages whose text was deleted, with the reason, and messages of linked accounts in bridged chats.',
  query: PageQuery,
  returns: { 200: z.array(OwnMessage) },
  fails: [],
  handler: async ({ app, wallet, query: { limit, offset } }) => {
    const { messages, total } = await listOwnMessages(app.db, wallet, limit, offset);
    return reply(200, messages, { 'X-Total-Count': String(total) });
  },
});

const putSlowMode = route({
  method: 'put',
  path: '/admin/chat/slow-mode',
  auth: { admin: 'moderation' },
  summary: 'Set the time between two chat messages of an author',
  description:
    'Takes effect in every process within a second. Entries of rounds are not slowed down. `slowModeSec` of `/chat/status` shows the time. Until the first request, the setting `CHAT_SLOW_MODE_SEC` applies.',
  body: SlowMode,
  returns: { 200: SlowMode },
  fails: [],
  handler: async ({ app, body }) => {
    await app.tx((tx) => setSlowMode(app, tx, body.seconds));
    return reply(200, body);
  },
});

const postModeration = route({
  method: 'post',
  path: '/admin/chat/moderate',
  auth: { admin: 'moderation' },
  summary: 'Delete a chat message, or mute or ban an author',
  description:
    'delete empties the message’s text. mute refuses new messages and entries for the given minutes, starting now; ban refuses them permanently. Accepted entries ' +
    'stay. Idempotent, except that a repeated mute starts again.',
  body: ModerationRequest,
  returns: { 200: Moderation },
  fails: [404],
  handler: async ({ app, admin, body }) => reply(200, await app.tx((tx) => moderate(tx, body, admin))),
});

/** The endpoints of chat, grouped by who may call them. */
export const chatRoutes = {
  public: [getMessages, getStatus],
  session: [postMessage, getOwnMessages],
  admin: [postModeration, putSlowMode],
  webhooks: [postBridgedMessage],
};
