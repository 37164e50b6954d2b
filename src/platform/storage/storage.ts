import type { Readable } from 'node:stream';
import type { UploadDraft } from './upload-draft.ts';

/** Bytes from `start` to `end`, both inclusive. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Stores media files by id. Ids are UUIDs, so client input never becomes a path. Metadata is in the database: a row with the id is committed
 * before its file is stored, so that no file is without a row. All methods throw 503 when the storage is not available.
 */
export interface Storage {
  /** Opens a temporary file for an upload. The caller closes it. */
  draft(): Promise<UploadDraft>;
  /** Stores the bytes of a draft durably and atomically, within `PUT_MS`. @param type content type */
  put(id: string, draft: UploadDraft, type: string): Promise<void>;
  /** Opens a stream of a part of a file. The caller destroys the stream when it does not read it to the end. */
  open(id: string, range: ByteRange): Promise<Readable>;
  /** Deletes the file of an id, and the remains of an interrupted `put`. Does nothing when there is none. */
  remove(id: string): Promise<void>;
  close(): void;
}

/** Timeout of `put`, ms. */
export const PUT_MS = 5 * 60_000;

/** Returns the folder and file name of an id, in the media folder or bucket. @throws when the id is not a UUID */
export function pathOf(id: string): { folder: string; name: string } {
  if (!/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)) throw new Error('the id of a media file must be a UUID');
  // Uses the end of the id, which is random; the beginning is a timestamp and would fill one folder at a time.
  return { folder: id.slice(-2), name: id };
}
