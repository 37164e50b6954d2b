import type { Readable } from 'node:stream';
import type { Draft } from './draft.ts';

/** Bytes from `start` to `end`, both inclusive. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Keeps bytes under ids, which are UUIDs: what users say never comes into a path. It knows nothing of what it keeps; rows do, and name an id
 * before anything lies under it. Everything throws 503 when the storage does not work.
 */
export interface Storage {
  /** A place to receive bytes in, before anybody knows what they are. Close it. */
  draft(): Promise<Draft>;
  /** Keeps what a draft has received, durably, and all of it or nothing. At most `PUT_MS`. @param type its content type */
  put(id: string, draft: Draft, type: string): Promise<void>;
  /** A part of what is kept, read as fast as it is taken. Destroy it when you do not need it to its end. */
  open(id: string, range: ByteRange): Promise<Readable>;
  /** Makes sure that nothing lies under an id, nor anything that was left of keeping it. */
  remove(id: string): Promise<void>;
  close(): void;
}

/** How long keeping something may take in all, ms. */
export const PUT_MS = 5 * 60_000;

/** Where an id lies, in a folder or a bucket. @throws what is no id never becomes a path */
export function pathOf(id: string): { folder: string; name: string } {
  if (!/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)) throw new Error('media lie under UUIDs only');
  // The end of an id is random, its beginning is the time.
  return { folder: id.slice(-2), name: id };
}
