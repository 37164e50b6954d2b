import { readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { BufferTarget, EncodedPacket, EncodedVideoPacketSource, Mp4OutputFormat, Output, type OutputFormat, WebMOutputFormat } from 'mediabunny';
import { z } from 'zod';
import { ClipView } from '#areas/clips/schemas.ts';
import type { App } from '#platform/app.ts';
import type { Storage } from '#platform/storage/storage.ts';
import type { TestApp } from '../app.ts';
import { jsonOf } from '../http/json.ts';
import type { SignedIn } from '../wallet.ts';
import { sql } from './boards.ts';

/** Pseudo-random content, so that a wrong offset is detected. */
const PATTERN = Buffer.from(Uint16Array.from({ length: 9_973 }, (_, i) => i * 31).buffer);

/** Builds a video of one frame. The frame has no picture, because the service reads the structure of a file and decodes no frame. */
async function video(format: OutputFormat): Promise<Buffer> {
  const target = new BufferTarget();
  const output = new Output({ format, target });
  const source = new EncodedVideoPacketSource('vp9');
  output.addVideoTrack(source, { frameRate: 30 });
  await output.start();
  const decoderConfig = { codec: 'vp09.00.10.08', codedWidth: 64, codedHeight: 48 };
  await source.add(new EncodedPacket(Uint8Array.from([0x82, 0x49, 0x83, 0x42]), 'key', 0, 1 / 30), { decoderConfig });
  await output.finalize();
  if (!target.buffer) throw new Error('the video was not written');
  return Buffer.from(target.buffer);
}
const MP4 = await video(new Mp4OutputFormat({ fastStart: 'in-memory' }));
const WEBM = await video(new WebMOutputFormat());
/** Bytes of the header of a box, and of the seed. */
const FREE_BYTES = 16;
/** Size of the smallest file of `mp4`, bytes. */
export const MIN_MP4_BYTES = MP4.length + FREE_BYTES;

/** Builds an MP4 file of `bytes` bytes, or of the smallest possible size. It ends with a `free` box. Another `seed` gives another content. */
export function mp4(bytes = 1_000, seed = Math.random(), brand = 'isom'): Buffer {
  const free = Buffer.alloc(Math.max(FREE_BYTES, bytes - MP4.length), PATTERN);
  free.writeUInt32BE(free.length, 0);
  free.write('free', 4, 'latin1');
  free.writeDoubleBE(seed, 8);
  const file = Buffer.concat([MP4, free]);
  file.write(brand, 8, 'latin1');
  return file;
}

/** Builds an EBML file with a document type, as browsers record it. */
export const ebml = (type: string): Buffer =>
  Buffer.concat([
    Buffer.from('1a45dfa3', 'hex'),
    // An 8-byte size, as ffmpeg writes it, then EBMLVersion and DocType.
    Buffer.from('01000000000000', 'hex'),
    Buffer.from([4 + 3 + type.length, 0x42, 0x86, 0x81, 1, 0x42, 0x82, 0x80 + type.length]),
    Buffer.from(type),
    Buffer.from('18538067', 'hex'),
    Buffer.alloc(200, 7),
  ]);
/** Builds a WebM file of one frame. */
export const webm = (): Buffer => Buffer.from(WEBM);

/** Builds a GIF of one pixel. */
export const gif = (): Buffer => Buffer.from('47494638396101000100800000ffffff00000021f90400000000002c00000000010001000002024401003b', 'hex');

/** The game of the clips. A test must register it. */
export const GAME = 'clip-game';

/** Form fields in order. A Buffer is sent as a file with a wrong name and type. */
export type Form = Readonly<Record<string, string | Buffer>>;

/** Builds a form as browsers send it. */
export function form(fields: Iterable<readonly [name: string, value: string | Buffer]>): FormData {
  const data = new FormData();
  for (const [name, value] of fields) {
    if (typeof value === 'string') data.append(name, value);
    else data.append(name, new Blob([new Uint8Array(value)], { type: 'text/html' }), '../../clip.html');
  }
  return data;
}

/** Sends an upload form, by default with a valid clip. */
export function upload(
  who: Pick<SignedIn, 'fetch'>,
  fields: Form = { gameId: GAME, file: mp4() },
  headers: Record<string, string> = {},
): Promise<Response> {
  return who.fetch('/clip/upload', { method: 'POST', body: form(Object.entries(fields)), headers });
}

/** Uploads a clip and expects 201. */
export async function uploadClip(who: Pick<SignedIn, 'fetch'>, fields?: Form, headers?: Record<string, string>): Promise<z.output<typeof ClipView>> {
  const response = await upload(who, fields, headers);
  if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`);
  return await jsonOf(response, ClipView);
}

/** Returns status and error sentence of a refused request. */
export async function readRefusal(asked: Response | Promise<Response>): Promise<string> {
  const response = await asked;
  return `${response.status} ${((await response.json()) as { error: string }).error}`;
}

/** Reads a list of clips. @returns the ids of the page, and the total */
export async function listClipIds(t: Pick<TestApp, 'url'>, query: string): Promise<{ ids: string[]; total: number }> {
  const response = await fetch(`${t.url}/clips?${query}`);
  const clips = await jsonOf(response, z.array(ClipView));
  return { ids: clips.map(({ id }) => id), total: Number(response.headers.get('X-Total-Count')) };
}

/** Bans a wallet from a time on; null removes the ban. */
export const setBan = (app: App, wallet: string, at: string | null) =>
  sql(app, 'update players set banned_at = $2::timestamptz where wallet = $1', [wallet, at]);

/** Waits until a condition is true. */
export async function waitUntil(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await sleep(10);
}

/** Creates a promise (`closed`) that resolves when `open` is called. */
export function createGate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { closed: promise, open: resolve };
}

/** Runs work while some functions of the storage are replaced. */
export async function withStorage<T>(app: App, otherwise: Partial<Storage>, work: () => Promise<T>): Promise<T> {
  const { storage } = app;
  Object.assign(app, { storage: { ...storage, ...otherwise } });
  try {
    return await work();
  } finally {
    Object.assign(app, { storage });
  }
}

/** Returns the names of all files below a folder. */
export async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => !entry.isDirectory()).map((entry) => entry.name);
}
