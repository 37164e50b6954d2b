import { receiptOf } from '#areas/lottery';
import { reply, route } from '#platform/http/route.ts';
import { processWebhook } from '#platform/webhooks/jobs.ts';
import { Acknowledged, acknowledged } from '#platform/webhooks/receive.ts';
import { shownMessages } from './messages.ts';
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
} from './schemas.ts';
import { chatStatus } from './status.ts';
import { say } from './submit.ts';

export const postMessage = route({
  method: 'post',
  path: '/chat/message',
  auth: 'session',
  summary: 'Say something in chat, or enter the active round',
  description:
    '`!enter`, or `!enter 3 7 12 30 41`, is an entry of the active round; without numbers they are derived from the entry’s id and the wallet. ' +
    'Wrong numbers are 400; 409 when no round takes entries, or the wallet has as many as it may have; 403 when muted or banned. Then nothing is stored or shown. ' +
    'The receipt is signed with a key of `/.well-known/coinop-keys`.',
  body: MessageRequest,
  returns: { 201: MessageReceipt },
  fails: [403, 409, 429],
  idempotent: true,
  handler: async ({ app, wallet, body, idempotencyKey }) => {
    const { messageId, entry } = await say(app, wallet, body.text, idempotencyKey);
    if (entry === null) return reply(201, { messageId });
    const { id, index, numbers } = entry;
    return reply(201, { messageId, entry: { id, sequence: index, numbers: [...numbers], receipt: receiptOf(app, entry) } });
  },
});

export const getMessages = route({
  method: 'get',
  path: '/chat/messages',
  auth: 'public',
  summary: 'The latest messages, newest first',
  description: 'For who joins; what follows comes as events `chat_message` and `chat_moderation`.',
  query: MessagesQuery,
  returns: { 200: ChatMessages },
  fails: [],
  handler: async ({ app, query }) => {
    const messages = await shownMessages(app.db, query.before ?? null, query.limit);
    return reply(200, { messages, next: messages.length === query.limit ? (messages.at(-1)?.messageId ?? null) : null });
  },
});

export const getStatus = route({
  method: 'get',
  path: '/chat/status',
  auth: 'public',
  summary: 'How chat is',
  description:
    'Whether messages are taken, which round takes entries, how busy it is, and how far the stream of events is behind. At most a second old.',
  returns: { 200: ChatStatus },
  fails: [],
  handler: async ({ app }) => reply(200, await chatStatus(app)),
});

export const postBridgedMessage = route({
  method: 'post',
  path: '/integrations/chat/messages',
  auth: { webhook: 'chat-bridge' },
  summary: 'A message of a bridged chat',
  description:
    'Stored, acknowledged, then worked on; the verdict is in the list of deliveries. It is shown with its handle, and with its wallet if the account is linked. ' +
    '`!enter …` is an entry only for a wallet that linked the account before the round opened; otherwise the message is shown without one. ' +
    'Wrong numbers, and authors who may not write or write too much, are not shown. The same platform and messageId again does nothing.',
  body: BridgedDelivery,
  returns: { 200: Acknowledged },
  fails: [],
  handler: ({ delivery, once }) =>
    once(async (tx) => {
      tx.enqueue(processWebhook, { source: 'chat-bridge', id: delivery.id });
      return acknowledged();
    }),
});

export const postModeration = route({
  method: 'post',
  path: '/admin/chat/moderate',
  auth: { admin: 'moderation' },
  summary: 'Delete a message, mute or ban its author',
  description:
    'delete: empties the text; mute (from now on, so many minutes) and ban: refuse messages and entries from then on. Accepted entries stay. ' +
    'Again the same is 200 and changes nothing, but that a mute begins anew.',
  body: ModerationRequest,
  returns: { 200: Moderation },
  fails: [404],
  handler: async ({ app, admin, body }) => reply(200, await app.tx((tx) => moderate(tx, body, admin))),
});

/** The endpoints of chat, by who may call them. */
export const chatRoutes = {
  public: [getMessages, getStatus],
  session: [postMessage],
  admin: [postModeration],
  webhooks: [postBridgedMessage],
};
