import type { EventCatalog } from './event.ts';
import type { Position } from './redis-stream.ts';

/** Server-Sent Events as text: ids, messages, and the lines around them. */

/** Where a client is: it has everything up to here. `index` counts own scores within one entry; Infinity = all of the entry. */
export interface Bookmark extends Position {
  readonly epoch: string;
  readonly index: number;
}

const ID = /^([0-9a-f]{12}):(\d{1,15})-(\d{1,9})(?:\.(\d{1,6}))?$/;

/** `epoch:publication-seq`, and `.index` for one of several messages of an entry. */
export function formatId(epoch: string, place: Position, index = Number.POSITIVE_INFINITY): string {
  return `${epoch}:${place.publication}-${place.seq}${Number.isFinite(index) ? `.${index}` : ''}`;
}

/** Reads a `Last-Event-ID`; null when it is none of ours. */
export function parseId(text: string): Bookmark | null {
  const [, epoch, publication, seq, index] = ID.exec(text) ?? [];
  if (epoch === undefined) return null;
  return { epoch, publication: Number(publication), seq: Number(seq), index: index === undefined ? Number.POSITIVE_INFINITY : Number(index) };
}

/** One message. `data` is one line of JSON: JSON escapes line breaks. */
export const message = (id: string, type: string, data: string): Buffer => Buffer.from(`id: ${id}\nevent: ${type}\ndata: ${data}\n\n`);

/** An id without a message: a client remembers it and dispatches nothing. So a quiet stream can be resumed, too. */
export const bookmark = (id: string): Buffer => Buffer.from(`id: ${id}\n\n`);

/** A sign of life. @param id everything up to here was sent; null = not known */
export const heartbeat = (id: string | null): Buffer => Buffer.from(id === null ? ':\n\n' : `:\nid: ${id}\n\n`);

/** The first lines of a stream. @param retryMs how long the client waits before it connects again */
export const opening = (retryMs: number, state: 'live' | 'resumed' | 'reset'): Buffer => Buffer.from(`retry: ${retryMs}\n: ${state}\n\n`);

/**
 * The message that events may be missing. It is sent in-band, because a plain EventSource sees no headers.
 * @param links paths of the state that the client reads anew
 */
export const reset = (id: string, at: Date, links: EventCatalog['resetLinks']): Buffer =>
  message(id, 'reset', JSON.stringify({ type: 'reset', category: 'system', at: at.toISOString(), links }));
