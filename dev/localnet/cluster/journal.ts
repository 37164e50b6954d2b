import { closeSync, existsSync, fstatSync, fsyncSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs';
import { crc32 } from 'node:zlib';

/** Where an entry can be read again. */
export type Place = { readonly at: number; readonly length: number } | { readonly bytes: Buffer };

/** What happened, in order, one JSON line each. */
export interface Journal {
  append(entry: object): Place;
  read(place: Place): unknown;
  close(): void;
}

/** Keeps the entries in memory alone. */
export function memoryJournal(): Journal {
  return {
    append: (entry) => ({ bytes: Buffer.from(JSON.stringify(entry)) }),
    read: (place) => JSON.parse(('bytes' in place ? place.bytes : Buffer.alloc(0)).toString()),
    close() {},
  };
}

/**
 * Keeps the entries in a file: each line is the CRC-32 of its JSON, a space, and the JSON. An entry is with the system before
 * anything of it is answered, so it outlives this process however that ends (not the machine: nothing waits for the disk).
 * A line that a killed process left unfinished is cut off.
 * @param replay receives what is there, in order
 */
export function openJournal(path: string, replay: (entry: unknown, place: Place) => void): Journal {
  let end = existsSync(path) ? readAll(path, replay) : 0;
  const file = openSync(path, existsSync(path) ? 'r+' : 'w+', 0o600);
  return {
    append(entry) {
      const json = JSON.stringify(entry);
      const line = Buffer.from(`${checksum(json)} ${json}\n`);
      for (let written = 0; written < line.length; ) written += writeSync(file, line, written, line.length - written, end + written);
      const place = { at: end, length: line.length };
      end += line.length;
      return place;
    },
    read(place) {
      if (!('at' in place)) return JSON.parse(place.bytes.toString());
      const line = Buffer.alloc(place.length);
      readSync(file, line, 0, place.length, place.at);
      return JSON.parse(line.toString().slice(9));
    },
    close() {
      fsyncSync(file);
      closeSync(file);
    },
  };
}

/** Larger than any entry; files are read in pieces of this size. */
const PIECE_BYTES = 16 * 1024 * 1024;

/** How far the file is sound; an unfinished end is cut off, anything else that is unsound is an error. */
function readAll(path: string, replay: (entry: unknown, place: Place) => void): number {
  const file = openSync(path, 'r+');
  try {
    const { size } = fstatSync(file);
    const piece = Buffer.alloc(Math.min(PIECE_BYTES, size));
    let at = 0;
    while (at < size) {
      const bytes = piece.subarray(0, readSync(file, piece, 0, piece.length, at));
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

/** Replays the complete lines. @returns how many bytes they are */
function readLines(bytes: Buffer, offset: number, replay: (entry: unknown, place: Place) => void): number {
  let at = 0;
  for (let stop = bytes.indexOf(0x0a); stop >= 0; stop = bytes.indexOf(0x0a, at)) {
    const json = bytes.toString('utf8', at + 9, stop);
    if (bytes.toString('latin1', at, at + 8) !== checksum(json)) throw new Error(`the journal is damaged at byte ${offset + at}`);
    replay(JSON.parse(json), { at: offset + at, length: stop + 1 - at });
    at = stop + 1;
  }
  return at;
}

function checksum(json: string): string {
  return crc32(json).toString(16).padStart(8, '0');
}
