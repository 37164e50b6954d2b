import type { EventCatalog } from './event.ts';
import type { Position } from './redis-stream.ts';

/**
 * The position up to which a client has received the event stream. For an entry of batched items, `index` is the index of the last item that the
 * client received; Infinity means that the client received the whole entry.
 */
export interface Bookmark extends Position {
  readonly epoch: string;
  readonly index: number;
}

const ID = /^([0-9a-f]{12}):(\d{1,15})-(\d{1,9})(?:\.(\d{1,6}))?$/;

/** Formats an event id: `epoch:publication-seq`. If an entry has several messages, the id of each message ends with `.index`. */
export function formatId(epoch: string, position: Position, index = Number.POSITIVE_INFINITY): string {
  return `${epoch}:${position.publication}-${position.seq}${Number.isFinite(index) ? `.${index}` : ''}`;
}

/** Parses a `Last-Event-ID` header; returns null when the id is malformed. */
export function parseId(text: string): Bookmark | null {
  const [, epoch, publication, seq, index] = ID.exec(text) ?? [];
  if (epoch === undefined) return null;
  return { epoch, publication: Number(publication), seq: Number(seq), index: index === undefined ? Number.POSITIVE_INFINITY : Number(index) };
}

/**
 * Encodes one message of the event stream.
 * @param data the payload as JSON on one line; JSON escapes line breaks within texts
 */
export const message = (id: string, type: string, data: string): Buffer => Buffer.from(`id: ${id}\nevent: ${type}\ndata: ${data}\n\n`);

/**
 * Encodes an id without a message. The client stores the id without dispatching an event, so that it can resume even a stream that has sent no
 * message yet.
 */
export const bookmark = (id: string): Buffer => Buffer.from(`id: ${id}\n\n`);

/**
 * Encodes a heartbeat.
 * @param id the id of the last entry; null for a subscriber that has not received all entries: its heartbeat has no id
 */
export const heartbeat = (id: string | null): Buffer => Buffer.from(id === null ? ':\n\n' : `:\nid: ${id}\n\n`);

/**
 * Encodes the first lines of a stream.
 * @param retryMs the delay after a disconnect until the client reconnects, ms
 */
export const opening = (retryMs: number, state: 'live' | 'resumed' | 'reset'): Buffer => Buffer.from(`retry: ${retryMs}\n: ${state}\n\n`);

/**
 * Encodes a `reset` message, which says that the client may have missed events. The stream itself carries this message, because a plain EventSource
 * cannot read response headers.
 * @param links the API paths that the client must read again
 */
export const reset = (id: string, at: Date, links: EventCatalog['resetLinks']): Buffer =>
  message(id, 'reset', JSON.stringify({ type: 'reset', category: 'system', at: at.toISOString(), links }));
