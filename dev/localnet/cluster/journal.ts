import { closeSync, existsSync, fstatSync, fsyncSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs';
import { crc32 } from 'node:zlib';

/** The position of an entry: a byte range of the file or, for a journal in memory, the bytes of the entry. */
export type JournalPosition = { readonly at: number; readonly length: number } | { readonly bytes: Buffer };

/** An append-only log of all changes of the cluster. */
export interface Journal {
  append(entry: object): JournalPosition;
  read(position: JournalPosition): unknown;
  /** Calls a function with each entry, from the oldest to the newest. */
  replay(take: (entry: unknown) => void): void;
  close(): void;
}

/** Returns a journal that exists only in memory. */
export function memoryJournal(): Journal {
  const entries: Buffer[] = [];
  return {
    append(entry) {
      const bytes = Buffer.from(JSON.stringify(entry));
      entries.push(bytes);
      return { bytes };
    },
    read: (position) => JSON.parse(('bytes' in position ? position.bytes : Buffer.alloc(0)).toString()),
    replay(take) {
      for (const bytes of entries) take(JSON.parse(bytes.toString()));
    },
    close() {},
  };
}

/**
 * Opens a journal in a file. Each line is the CRC-32 of its JSON, a space, and the JSON. An incomplete last line is truncated. The localnet writes an
 * entry before it sends the response that reports the change, so the entry survives a kill of this process. It may not survive a power cut, because
 * no write waits for the disk.
 * @param replay function that is called with each existing entry, from the oldest to the newest
 */
export function openJournal(path: string, replay: (entry: unknown, position: JournalPosition) => void): Journal {
  let end = existsSync(path) ? readAll(path, replay) : 0;
  const file = openSync(path, existsSync(path) ? 'r+' : 'w+', 0o600);
  return {
    append(entry) {
      const json = JSON.stringify(entry);
      const line = Buffer.from(`${checksum(json)} ${json}\n`);
      for (let written = 0; written < line.length; ) written += writeSync(file, line, written, line.length - written, end + written);
      const position = { at: end, length: line.length };
      end += line.length;
      return position;
    },
    read(position) {
      if (!('at' in position)) return JSON.parse(position.bytes.toString());
      const line = Buffer.alloc(position.length);
      readSync(file, line, 0, position.length, position.at);
      return JSON.parse(line.toString().slice(9));
    },
    replay(take) {
      readAll(path, take);
    },
    close() {
      fsyncSync(file);
      closeSync(file);
    },
  };
}

/** Size of the chunks in which the journal is read, bytes. It must be larger than any entry. */
const CHUNK_BYTES = 16 * 1024 * 1024;

/** Replays the file and truncates an incomplete last line. @returns the length of the file, bytes @throws when a checksum is wrong */
function readAll(path: string, replay: (entry: unknown, position: JournalPosition) => void): number {
  const file = openSync(path, 'r+');
  try {
    const { size } = fstatSync(file);
    const chunk = Buffer.alloc(Math.min(CHUNK_BYTES, size));
    let at = 0;
    while (at < size) {
      const bytes = chunk.subarray(0, readSync(file, chunk, 0, chunk.length, at));
      const used = readLines(bytes, at, replay);
      if (used === 0) break;
      at += used;
    }
    ftruncateSync(file, at);
    return at;
  } finally {
    closeSync(file);
  }
}

/**
 * Replays the complete lines of a chunk.
 * @returns the total length of these lines, bytes
 */
function readLines(bytes: Buffer, offset: number, replay: (entry: unknown, position: JournalPosition) => void): number {
  let at = 0;
  for (let stop = bytes.indexOf(0x0a); stop >= 0; stop = bytes.indexOf(0x0a, at)) {
    const json = bytes.toString('utf8', at + 9, stop);
    if (bytes.toString('latin1', at, at + 8) !== checksum(json))
      throw new Error(`the journal is damaged at byte ${offset + at}: to start with an empty cluster, delete the folder of the localnet`);
    replay(JSON.parse(json), { at: offset + at, length: stop + 1 - at });
    at = stop + 1;
  }
  return at;
}

function checksum(json: string): string {
  return crc32(json).toString(16).padStart(8, '0');
}
