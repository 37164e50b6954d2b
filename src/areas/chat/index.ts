/** The public API of chat: messages of bridged chats, and the removal of what authors wrote. */
export { prepareBridged } from './bridged.ts';
export { chatModeration } from './events.ts';
export { forgetMessage, forgetMessagesOf } from './messages.ts';
export { purgeChat } from './purge.ts';
