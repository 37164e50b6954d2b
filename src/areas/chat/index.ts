/** The door of chat: messages, entries that come as messages, and moderation. */
export { prepareBridged } from './bridged.ts';
