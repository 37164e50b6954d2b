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
import { clipOf, filesIn, GAME, mp4, upload } from '#test/support/areas/clips.ts';
import { asAdmin } from '#test/support/areas/quests.ts';
import { type S3, startS3 } from '#test/support/servers/s3.ts';
import { signIn } from '#test/support/wallet.ts';

let folder: string;
let s3: S3;
/** An application that keeps its clips in a bucket. */
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

const DOWN = { status: 503, headers: { 'Retry-After': '5' } };
const nothing = () => undefined;
async function keep(storage: Storage, file: Buffer, id: string = randomUUID()): Promise<string> {
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
  if (!storage) throw new Error(`no storage is ${kind}`);
  return storage;
}
/** A server that only claims to speak S3. */
async function withServer(answer: RequestListener, work: (storage: Storage) => Promise<void>): Promise<void> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const config = { endpoint, bucket: 'media', region: 'us-east-1', accessKey: 'key', secretKey: 'secret' };
  const storage = openS3(folder, config, { answerMs: 300, unreadMs: 300 });
  try {
    await work(storage);
  } finally {
    storage.close();
    server.closeAllConnections();
    server.close();
  }
}

test.each(['a folder', 'a bucket'])('%s keeps files, gives them in parts, and forgets them', async (kind) => {
  const storage = storageOf(kind);
  const file = mp4(1_000_000);
  const id = await keep(storage, file);
  // Jest compares byte by byte, which takes seconds.
  expect((await read(storage, id, 0, file.length - 1)).equals(file)).toBe(true);
  expect(await read(storage, id, 0, 1)).toEqual(file.subarray(0, 2));
  expect(await read(storage, id, 7, 7)).toEqual(file.subarray(7, 8));
  expect((await read(storage, id, 500_000, 700_000)).equals(file.subarray(500_000, 700_001))).toBe(true);
  expect(await read(storage, id, file.length - 1, file.length - 1)).toEqual(file.subarray(-1));
  // Whoever expects more would wait for it.
  await expect(storage.open(id, { start: 0, end: file.length })).rejects.toMatchObject(DOWN);
  await storage.remove(id);
  await storage.remove(id);
  await expect(storage.open(id, { start: 0, end: 0 })).rejects.toMatchObject(DOWN);
});

test.each(['a folder', 'a bucket'])('of %s a reader may leave in the middle', async (kind) => {
  const storage = storageOf(kind);
  const id = await keep(storage, mp4(5_000_000));
  const all = await Promise.all(Array.from({ length: 20 }, () => storage.open(id, { start: 0, end: 4_999_999 })));
  for (const stream of all) {
    stream.on('error', nothing);
    for await (const _chunk of stream) break;
    if (!stream.closed) await new Promise((resolve) => stream.once('close', resolve));
  }
  expect(await read(storage, id, 0, 31)).toHaveLength(32);
});

test.each(['a folder', 'a bucket'])('%s takes no ids but UUIDs', async (kind) => {
  for (const id of ['../../etc/passwd', '', 'a/b', `${randomUUID()}/..`, randomUUID().toUpperCase()]) {
    await expect(storageOf(kind).remove(id)).rejects.toThrow();
    await expect(storageOf(kind).open(id, { start: 0, end: 0 })).rejects.toThrow();
  }
});

test('what is being received has no name that anybody would have to remove', async () => {
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

test('a file is inspected once, as soon as its beginning is there', async () => {
  const heads: number[] = [];
  const inspect = (head: Buffer) => void heads.push(head.length);
  for (const sizes of [[10_000], [4_000, 95, 1, 9_000], [1, 2, 3]]) {
    const draft = await storageOf('a folder').draft();
    await draft.fill(Readable.from(sizes.map((size) => Buffer.alloc(size))), 20_000, inspect);
    await draft.close();
  }
  expect(heads).toEqual([4_096, 4_096, 6]);
});

test('a folder follows no symbolic link, and keeps nothing of what it could not keep', async () => {
  const own = join(folder, 'links');
  const storage = openDisk(own);
  const id = randomUUID();
  const place = join(own, id.slice(-2));
  await mkdir(place, { recursive: true });
  await writeFile(join(folder, 'secret'), 'secret');
  await symlink(join(folder, 'secret'), join(place, id));
  await expect(storage.open(id, { start: 0, end: 3 })).rejects.toMatchObject(DOWN);
  const other = randomUUID();
  const taken = join(own, other.slice(-2));
  await mkdir(join(taken, other, 'in the way'), { recursive: true });
  await expect(keep(storage, mp4(), other)).rejects.toMatchObject(DOWN);
  expect((await filesIn(taken)).filter((name) => name.endsWith('.part'))).toEqual([]);
});

test('a folder that cannot be written to is 503', async () => {
  await writeFile(join(folder, 'file'), '');
  await expect(openDisk(join(folder, 'file')).draft()).rejects.toMatchObject(DOWN);
});

test('a bucket asks again where that may help', async () => {
  let asked = 0;
  const answer: RequestListener = (request, response) => {
    request.resume();
    request.on('end', () => response.writeHead(++asked < 3 ? 503 : 200).end());
  };
  await withServer(answer, async (storage) => {
    await keep(storage, mp4());
    expect(asked).toBe(3);
  });
});

test('a bucket does not ask again where it may not, and says why', async () => {
  let asked = 0;
  const refuse: RequestListener = (_request, response) => {
    asked++;
    response.writeHead(403).end('<Error><Code>SignatureDoesNotMatch</Code></Error>');
  };
  await withServer(refuse, async (storage) => {
    const id = randomUUID();
    const cause = new Error(`S3 answered GET ${id} with 403 SignatureDoesNotMatch`);
    await expect(storage.open(id, { start: 0, end: 0 })).rejects.toMatchObject({ ...DOWN, cause });
    expect(asked).toBe(1);
    // It is refused before it is sent.
    await expect(keep(storage, mp4(5_000_000))).rejects.toMatchObject(DOWN);
    expect(asked).toBe(2);
  });
});

test('a bucket that does not answer, breaks off, or has forgotten half of a file is not waited for', async () => {
  await withServer(nothing, async (storage) => {
    await expect(storage.open(randomUUID(), { start: 0, end: 0 })).rejects.toMatchObject(DOWN);
  });
  const short: RequestListener = (_request, response) => void response.writeHead(206, { 'Content-Length': 5 }).end('short');
  await withServer(short, async (storage) => {
    await expect(storage.open(randomUUID(), { start: 0, end: 9 })).rejects.toMatchObject(DOWN);
  });
  const stalls: RequestListener = (_request, response) => void response.writeHead(206, { 'Content-Length': 10 }).write('12345');
  await withServer(stalls, async (storage) => {
    await expect(read(storage, randomUUID(), 0, 9)).rejects.toThrow();
  });
});

test('where a bucket is told of, all of it is, and production is told its folder by its whole path', () => {
  expect(() => readConfig({ MEDIA_S3_ENDPOINT: 'https://s3.example' })).toThrow('go together');
  expect(() => readConfig({ ...s3.env, MEDIA_S3_BUCKET: 'Not a bucket' })).toThrow('MEDIA_S3_BUCKET');
  expect(readConfig({ ...s3.env }).storage.s3).toMatchObject({ bucket: 'media', region: 'us-east-1' });
  const production = {
    ...{ NODE_ENV: 'production', SESSION_KEYS: 'k'.repeat(32), RECEIPT_KEY: Buffer.alloc(32, 7).toString('base64') },
    PUBLIC_URL: 'https://coinop.example',
  };
  expect(() => readConfig(production)).toThrow('MEDIA_FOLDER');
  expect(readConfig({ ...production, MEDIA_FOLDER: '/srv/media' }).storage).toEqual({ folder: '/srv/media', s3: null });
});

test('with a wrong key a bucket takes nothing', async () => {
  const { s3: config } = t.app.config.storage;
  if (!config) throw new Error('there is no bucket');
  const storage = openS3(folder, { ...config, secretKey: 'another' });
  await expect(keep(storage, mp4())).rejects.toMatchObject({ ...DOWN, cause: { message: expect.stringContaining('SignatureDoesNotMatch') } });
  storage.close();
});

test('a service keeps its clips in a bucket, and does without it when it is down', async () => {
  const me = await signIn(t);
  const file = mp4(300_000);
  const [{ id: kept }, { id: removed }] = [await clipOf(me, { gameId: GAME, file }), await clipOf(me)];
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
  const down = { status: 503, retryAfter: '5', body: { error: 'the storage of media is not available, try again' } };
  const answered = async (asked: Promise<Response>) => {
    const response = await asked;
    return { status: response.status, retryAfter: response.headers.get('Retry-After'), body: await response.json() };
  };
  expect(await answered(upload(me))).toEqual(down);
  expect(await answered(fetch(`${t.url}/clips/${kept}/media`))).toEqual(down);
  expect((await fetch(`${t.url}/clips/${kept}/media`, { method: 'HEAD' })).status).toBe(200);
  expect(await (await fetch(`${t.url}/clips?wallet=${me.wallet}`)).json()).toMatchObject([{ id: kept }]);
  expect(await sql(t.app, `select state from clips where state not in ('ready', 'removed')`)).toEqual([{ state: 'abandoned' }]);
});
