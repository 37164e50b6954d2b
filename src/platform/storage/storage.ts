import type { Readable } from 'node:stream';
import type { UploadDraft } from './upload-draft.ts';

/** A range of bytes. The offsets `start` and `end` are inclusive. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Stores media files by id. Ids are UUIDs, so client input never becomes a path. The database holds the metadata: a row with the id is committed
 * before the file is stored, so that every file has a row. All methods throw 503 when the storage is not available.
 */
export interface Storage {
  /** Opens a temporary file for an upload. The caller must close it. */
  draft(): Promise<UploadDraft>;
  /**
   * Stores the bytes of a draft durably and atomically, within `PUT_MS`.
   * @param type the content type of the file
   */
  put(id: string, draft: UploadDraft, type: string): Promise<void>;
  /** Opens a stream of a part of a file. The caller must destroy the stream when it does not read the stream to the end. */
  open(id: string, range: ByteRange): Promise<Readable>;
  /** Deletes the file of an id and the remains of an interrupted `put`. Does nothing when neither exists. */
  remove(id: string): Promise<void>;
  close(): void;
}

/** Timeout of `put`, ms. */
export const PUT_MS = 5 * 60_000;

/** Returns the folder and file name of an id, in the media folder or bucket. @throws when the id is not a UUID */
export function pathOf(id: string): { folder: string; name: string } {
  if (!/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)) throw new Error('the id of a media file must be a UUID');
  // The folder name is the end of the id, because the end is random. The beginning of the id is a timestamp, so it would put all new files into one
  // folder.
  return { folder: id.slice(-2), name: id };
}
