import { createHash, randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweepClips } from '#areas/clips/sweep.ts';
import { readConfig } from '#config';
import { openDisk } from '#platform/storage/disk.ts';
import { openStorage } from '#platform/storage/open.ts';
import { openS3 } from '#platform/storage/s3.ts';
import type { Storage } from '#platform/storage/storage.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { registerGame } from '#test/support/areas/arcade.ts';
import { sql } from '#test/support/areas/boards.ts';
import { filesIn, GAME, mp4, upload, uploadClip } from '#test/support/areas/clips.ts';
import { asAdmin } from '#test/support/areas/quests.ts';
import { PRODUCTION } from '#test/support/production.ts';
import { type S3, startS3 } from '#test/support/servers/s3.ts';
import { signIn } from '#test/support/wallet.ts';

let folder: string;
let s3: S3;
/** An application that stores clips in a bucket. */
let t: TestApp;
const storages = new Map<string, Storage>();
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'coinop-storage-'));
  s3 = await startS3();
  t = await startTestApp({ workers: false, env: { ...s3.env } });
  await registerGame(t.url, ADMIN_TOKEN, GAME);
  storages.set('a folder', openStorage({ folder, s3: null }));
  storages.set('a bucket', openStorage({ folder, s3: t.app.config.storage.s3 }));
});
afterAll(async () => {
  for (const storage of storages.values()) storage.close();
  await t.close();
  await s3.stop();
  await rm(folder, { recursive: true, force: true });
});

const UNAVAILABLE = { status: 503, headers: { 'Retry-After': '5' } };
const nothing = () => undefined;
async function store(storage: Storage, file: Buffer, id: string = randomUUID()): Promise<string> {
  const draft = await storage.draft();
  try {
    await draft.fill(Readable.from([file.subarray(0, 100), file.subarray(100)]), file.length, nothing);
    expect([draft.bytes, draft.sha256]).toEqual([file.length, createHash('sha256').update(file).digest()]);
    await storage.put(id, draft, 'video/mp4');
    return id;
  } finally {
    await draft.close();
  }
}
async function read(storage: Storage, id: string, start: number, end: number): Promise<Buffer> {
  return Buffer.concat(await (await storage.open(id, { start, end })).toArray());
}
function storageOf(kind: string): Storage {
  const storage = storages.get(kind);
  if (!storage) throw new Error(`unknown storage: ${kind}`);
  return storage;
}
/** Runs a test with a storage whose S3 server gives fixed responses. */
async function withServer(answer: RequestListener, work: (storage: Storage) => Promise<void>): Promise<void> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const config = { endpoint, bucket: 'media', region: 'us-east-1', accessKey: 'key', secretKey: 'secret' };
  const storage = openS3(folder, config, { responseMs: 300, readMs: 300 });
  try {
    await work(storage);
  } finally {
    storage.close();
    server.closeAllConnections();
    server.close();
  }
}

test.each(['a folder', 'a bucket'])('%s stores files, returns byte ranges, and deletes files', async (kind) => {
  const storage = storageOf(kind);
  const file = mp4(1_000_000);
  const id = await store(storage, file);
  // Uses `equals`, because Jest compares byte by byte, which takes seconds.
  expect((await read(storage, id, 0, file.length - 1)).equals(file)).toBe(true);
  expect(await read(storage, id, 0, 1)).toEqual(file.subarray(0, 2));
  expect(await read(storage, id, 7, 7)).toEqual(file.subarray(7, 8));
  expect((await read(storage, id, 500_000, 700_000)).equals(file.subarray(500_000, 700_001))).toBe(true);
  expect(await read(storage, id, file.length - 1, file.length - 1)).toEqual(file.subarray(-1));
  // A range beyond the end of the file is rejected, because the client would wait for the missing bytes.
  await expect(storage.open(id, { start: 0, end: file.length })).rejects.toMatchObject(UNAVAILABLE);
  await storage.remove(id);
  await storage.remove(id);
  await expect(storage.open(id, { start: 0, end: 0 })).rejects.toMatchObject(UNAVAILABLE);
});

test.each(['a folder', 'a bucket'])('%s works after readers stop in the middle of a file', async (kind) => {
  const storage = storageOf(kind);
  const id = await store(storage, mp4(5_000_000));
  const all = await Promise.all(Array.from({ length: 20 }, () => storage.open(id, { start: 0, end: 4_999_999 })));
  for (const stream of all) {
    stream.on('error', nothing);
    for await (const _chunk of stream) break;
    if (!stream.closed) await new Promise((resolve) => stream.once('close', resolve));
  }
  expect(await read(storage, id, 0, 31)).toHaveLength(32);
});

test.each(['a folder', 'a bucket'])('%s rejects ids that are not UUIDs', async (kind) => {
  for (const id of ['../../etc/passwd', '', 'a/b', `${randomUUID()}/..`, randomUUID().toUpperCase()]) {
    await expect(storageOf(kind).remove(id)).rejects.toThrow();
    await expect(storageOf(kind).open(id, { start: 0, end: 0 })).rejects.toThrow();
  }
});

test('an upload in progress leaves no file in the folder', async () => {
  const storage = openDisk(join(folder, 'drafts'));
  const draft = await storage.draft();
  await draft.fill(Readable.from([mp4()]), 1_000, nothing);
  expect(await filesIn(join(folder, 'drafts'))).toEqual([]);
  expect(Buffer.concat(await Readable.from(draft.read()).toArray())).toHaveLength(1_000);
  await draft.close();
  const small = await storage.draft();
  await expect(small.fill(Readable.from([mp4(1_001)]), 1_000, nothing)).rejects.toMatchObject({ status: 413 });
  await small.close();
});

test('a file is inspected once, as soon as its first bytes have arrived', async () => {
  const heads: number[] = [];
  const inspect = (head: Buffer) => void heads.push(head.length);
  for (const sizes of [[10_000], [4_000, 95, 1, 9_000], [1, 2, 3]]) {
    const draft = await storageOf('a folder').draft();
    await draft.fill(Readable.from(sizes.map((size) => Buffer.alloc(size))), 20_000, inspect);
    await draft.close();
  }
  expect(heads).toEqual([4_096, 4_096, 6]);
});

test('a folder follows no symbolic link, and a failed put leaves no part file', async () => {
  const own = join(folder, 'links');
  const storage = openDisk(own);
  const id = randomUUID();
  const place = join(own, id.slice(-2));
  await mkdir(place, { recursive: true });
  await writeFile(join(folder, 'secret'), 'secret');
  await symlink(join(folder, 'secret'), join(place, id));
  await expect(storage.open(id, { start: 0, end: 3 })).rejects.toMatchObject(UNAVAILABLE);
  const other = randomUUID();
  const taken = join(own, other.slice(-2));
  await mkdir(join(taken, other, 'in the way'), { recursive: true });
  await expect(store(storage, mp4(), other)).rejects.toMatchObject(UNAVAILABLE);
  expect((await filesIn(taken)).filter((name) => name.endsWith('.part'))).toEqual([]);
});

test('a folder that is not writable causes 503', async () => {
  await writeFile(join(folder, 'file'), '');
  await expect(openDisk(join(folder, 'file')).draft()).rejects.toMatchObject(UNAVAILABLE);
});

test('a request to a bucket is retried after a temporary error', async () => {
  let requests = 0;
  const answer: RequestListener = (request, response) => {
    request.resume();
    request.on('end', () => response.writeHead(++requests < 3 ? 503 : 200).end());
  };
  await withServer(answer, async (storage) => {
    await store(storage, mp4());
    expect(requests).toBe(3);
  });
});

test('a request to a bucket is not retried after a permanent error, and the cause has its code', async () => {
  let requests = 0;
  const refuse: RequestListener = (_request, response) => {
    requests++;
    response.writeHead(403).end('<Error><Code>SignatureDoesNotMatch</Code></Error>');
  };
  await withServer(refuse, async (storage) => {
    const id = randomUUID();
    const cause = new Error(`S3 answered GET ${id} with 403 SignatureDoesNotMatch`);
    await expect(storage.open(id, { start: 0, end: 0 })).rejects.toMatchObject({ ...UNAVAILABLE, cause });
    expect(requests).toBe(1);
    // The server rejects the upload before all of it is sent.
    await expect(store(storage, mp4(5_000_000))).rejects.toMatchObject(UNAVAILABLE);
    expect(requests).toBe(2);
  });
});

test('a bucket that does not answer, stalls, or returns a truncated file causes an error', async () => {
  await withServer(nothing, async (storage) => {
    await expect(storage.open(randomUUID(), { start: 0, end: 0 })).rejects.toMatchObject(UNAVAILABLE);
  });
  const short: RequestListener = (_request, response) => void response.writeHead(206, { 'Content-Length': 5 }).end('short');
  await withServer(short, async (storage) => {
    await expect(storage.open(randomUUID(), { start: 0, end: 9 })).rejects.toMatchObject(UNAVAILABLE);
  });
  const stalls: RequestListener = (_request, response) => void response.writeHead(206, { 'Content-Length': 10 }).write('12345');
  await withServer(stalls, async (storage) => {
    await expect(read(storage, randomUUID(), 0, 9)).rejects.toThrow();
  });
});

test('the S3 settings must be complete, and production needs an absolute media folder', () => {
  expect(() => readConfig({ MEDIA_S3_ENDPOINT: 'https://s3.example' })).toThrow('must be set together');
  expect(() => readConfig({ ...s3.env, MEDIA_S3_BUCKET: 'Not a bucket' })).toThrow('MEDIA_S3_BUCKET');
  expect(readConfig({ ...s3.env }).storage.s3).toMatchObject({ bucket: 'media', region: 'us-east-1' });
  expect(() => readConfig({ ...PRODUCTION, MEDIA_FOLDER: 'media' })).toThrow('MEDIA_FOLDER must be an absolute path in production');
  expect(readConfig({ ...PRODUCTION, MEDIA_FOLDER: '/srv/media' }).storage).toEqual({ folder: '/srv/media', s3: null });
});

test('a bucket rejects uploads with a wrong key', async () => {
  const { s3: config } = t.app.config.storage;
  if (!config) throw new Error('no bucket is configured');
  const storage = openS3(folder, { ...config, secretKey: 'another' });
  await expect(store(storage, mp4())).rejects.toMatchObject({ ...UNAVAILABLE, cause: { message: expect.stringContaining('SignatureDoesNotMatch') } });
  storage.close();
});

test('clips are stored in a bucket, and while it is down only media requests fail', async () => {
  const me = await signIn(t);
  const file = mp4(300_000);
  const [{ id: kept }, { id: removed }] = [await uploadClip(me, { gameId: GAME, file }), await uploadClip(me)];
  expect(await s3.ids()).toEqual(expect.arrayContaining([kept, removed]));
  const part = await fetch(`${t.url}/clips/${kept}/media`, { headers: { Range: 'bytes=100000-100099' } });
  expect([part.status, part.headers.get('Content-Type'), Buffer.from(await part.arrayBuffer())]).toEqual([
    206,
    'video/mp4',
    file.subarray(100_000, 100_100),
  ]);
  await asAdmin(t, `/admin/clips/${removed}`, { method: 'DELETE' });
  await sweepClips(t.app);
  expect(await s3.ids()).not.toContain(removed);

  await s3.stop();
  const down = { status: 503, retryAfter: '5', body: { error: 'the media storage is not available, try again' } };
  const resultOf = async (request: Promise<Response>) => {
    const response = await request;
    return { status: response.status, retryAfter: response.headers.get('Retry-After'), body: await response.json() };
  };
  expect(await resultOf(upload(me))).toEqual(down);
  expect(await resultOf(fetch(`${t.url}/clips/${kept}/media`))).toEqual(down);
  expect((await fetch(`${t.url}/clips/${kept}/media`, { method: 'HEAD' })).status).toBe(200);
  expect(await (await fetch(`${t.url}/clips?wallet=${me.wallet}`)).json()).toMatchObject([{ id: kept }]);
  expect(await sql(t.app, `select state from clips where state not in ('ready', 'removed')`)).toEqual([{ state: 'abandoned' }]);
});
