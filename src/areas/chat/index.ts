/** The public API of chat: messages of bridged chats. */
export { prepareBridged } from './bridged.ts';
