import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweepClips } from '#areas/clips/sweep.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { registerGame } from '#test/support/areas/arcade.ts';
import { sql } from '#test/support/areas/boards.ts';
import {
  createGate,
  filesIn,
  GAME,
  gif,
  listClipIds,
  mp4,
  readRefusal,
  setBan,
  upload,
  uploadClip,
  waitUntil,
  withStorage,
} from '#test/support/areas/clips.ts';
import { asAdmin } from '#test/support/areas/quests.ts';
import { type SignedIn, send, signIn } from '#test/support/wallet.ts';

const GAMES = ['list-a', 'list-b'] as const;

let t: TestApp;
let me: SignedIn;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  for (const game of [GAME, ...GAMES]) await registerGame(t.url, ADMIN_TOKEN, game);
  me = await signIn(t);
});
afterAll(() => t.close());

const mediaOf = (id: string, headers: Record<string, string> = {}, method = 'GET') => fetch(`${t.url}/clips/${id}/media`, { method, headers });
const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer());

test('clips are listed newest first, by game, wallet or both, in pages', async () => {
  const [one, two] = await Promise.all([signIn(t), signIn(t)]);
  const made: { id: string; wallet: string; gameId: string }[] = [];
  for (let i = 0; i < 8; i++) made.unshift(await uploadClip(i % 2 ? one : two, { file: mp4(), gameId: GAMES[i < 4 ? 0 : 1] }));
  const idsOf = (is: (clip: (typeof made)[number]) => boolean) => made.filter(is).map(({ id }) => id);
  const list = (query: string) => listClipIds(t, query);
  expect(await list('')).toEqual({ ids: idsOf(() => true), total: 8 });
  expect(await list('gameId=list-a')).toEqual({ ids: idsOf(({ gameId }) => gameId === 'list-a'), total: 4 });
  expect(await list(`wallet=${one.wallet}`)).toEqual({ ids: idsOf(({ wallet }) => wallet === one.wallet), total: 4 });
  const both = `wallet=${one.wallet}&gameId=list-b`;
  expect(await list(both)).toEqual({ ids: idsOf(({ wallet, gameId }) => wallet === one.wallet && gameId === 'list-b'), total: 2 });
  expect(await list(`${both}&limit=1&offset=1`)).toEqual({ ids: [(await list(both)).ids[1]], total: 2 });
  expect(await list('gameId=list-a&limit=2&offset=1')).toEqual({ ids: (await list('gameId=list-a')).ids.slice(1, 3), total: 4 });
  expect(await list('offset=9')).toEqual({ ids: [], total: 8 });
  expect(await list('gameId=no-such-game')).toEqual({ ids: [], total: 0 });
  for (const query of ['limit=501', 'offset=-1', 'wallet=me', 'gameId=No']) expect((await fetch(`${t.url}/clips?${query}`)).status).toBe(400);
  const first = await fetch(`${t.url}/clips?gameId=list-a`);
  const known = { 'If-None-Match': first.headers.get('ETag') ?? '' };
  expect((await fetch(`${t.url}/clips?gameId=list-a`, { headers: known })).status).toBe(304);

  await setBan(t.app, one.wallet, '2026-01-01');
  expect([(await list('gameId=list-a')).total, (await list('')).total]).toEqual([2, 4]);
  await setBan(t.app, one.wallet, null);
  await asAdmin(t, `/admin/clips/${made[0]?.id}`, { method: 'DELETE' });
  expect([(await list('gameId=list-b')).total, (await list('')).total]).toEqual([3, 7]);
});

test('an unknown clip and an invalid id give 404', async () => {
  for (const path of ['', '/media']) {
    expect(await readRefusal(fetch(`${t.url}/clips/${randomUUID()}${path}`))).toBe('404 no such clip');
    expect(await readRefusal(fetch(`${t.url}/clips/..%2f..%2fetc${path}`))).toBe('404 no such resource: id must be a UUID in lower case');
  }
});

test('a file is sent with its media type and a policy that forbids active content', async () => {
  const file = mp4(100_000);
  const { id } = await uploadClip(me, { gameId: GAME, file });
  const media = await mediaOf(id);
  expect((await bytesOf(media)).equals(file)).toBe(true);
  expect(Object.fromEntries(media.headers)).toMatchObject({
    'content-type': 'video/mp4',
    'content-length': '100000',
    'accept-ranges': 'bytes',
    'cache-control': 'public, max-age=86400, immutable',
    'content-disposition': `inline; filename="clip-${id}.mp4"`,
    'x-content-type-options': 'nosniff',
    'content-security-policy': expect.stringMatching(/^default-src 'none';.* sandbox$/),
  });
  const picture = await uploadClip(me, { gameId: GAME, file: gif() });
  expect((await mediaOf(picture.id)).headers.get('Content-Type')).toBe('image/gif');
});

test('a Range request gets a part of the file', async () => {
  const file = mp4(1_000);
  const { id } = await uploadClip(me, { gameId: GAME, file });
  const part = async (range: string, headers: Record<string, string> = {}) => {
    const response = await mediaOf(id, { Range: range, ...headers });
    const bytes = await bytesOf(response);
    expect(response.headers.get('Content-Length')).toBe(String(bytes.length));
    return [response.status, response.headers.get('Content-Range'), bytes];
  };
  const some = (start: number, end: number) => [206, `bytes ${start}-${end}/1000`, file.subarray(start, end + 1)];
  const whole = [200, null, file];
  expect(await part('bytes=0-0')).toEqual(some(0, 0));
  expect(await part('bytes=10-19')).toEqual(some(10, 19));
  expect(await part('Bytes = 10 - 19')).toEqual(some(10, 19));
  expect(await part('bytes=990-')).toEqual(some(990, 999));
  expect(await part('bytes=990-99999999999999999999')).toEqual(some(990, 999));
  expect(await part('bytes=-10')).toEqual(some(990, 999));
  expect(await part('bytes=-5000')).toEqual(some(0, 999));
  for (const range of ['bytes=0-1,5-6', 'bytes=9-5', 'bytes=-', 'bytes=a-b', 'lines=1-2', 'bytes']) expect(await part(range)).toEqual(whole);
  for (const range of ['bytes=1000-', 'bytes=5000-6000', 'bytes=-0']) {
    const response = await mediaOf(id, { Range: range });
    expect(response.headers.get('Content-Range')).toBe('bytes */1000');
    expect(await readRefusal(response)).toBe('416 Range must lie within the 1000 bytes of the file');
  }
  const etag = (await mediaOf(id)).headers.get('ETag') ?? '';
  expect(await part('bytes=0-9', { 'If-Range': etag })).toEqual(some(0, 9));
  for (const version of ['"other"', `W/${etag}`, new Date().toUTCString()]) expect(await part('bytes=0-9', { 'If-Range': version })).toEqual(whole);
  const head = await mediaOf(id, { Range: 'bytes=0-9' }, 'HEAD');
  expect([head.status, head.headers.get('Content-Length'), head.headers.get('ETag'), (await bytesOf(head)).length]).toEqual([200, '1000', etag, 0]);
  const known = await mediaOf(id, { 'If-None-Match': etag });
  expect([known.status, known.headers.get('ETag'), known.headers.get('Cache-Control')]).toEqual([304, etag, 'public, max-age=86400, immutable']);
});

test('a removed clip disappears at once, its file soon after, and its content cannot be uploaded again', async () => {
  const file = mp4();
  const { id } = await uploadClip(me, { gameId: GAME, title: 'Rude', file });
  const folder = t.env.MEDIA_FOLDER ?? '';
  expect(await filesIn(folder)).toContain(id);
  const remove = (headers: Record<string, string>) => send(t, `/admin/clips/${id}`, { method: 'DELETE', headers });
  expect((await remove({})).status).toBe(403);
  expect((await remove({ Cookie: me.cookie })).status).toBe(403);
  const admin = { Authorization: `Bearer ${ADMIN_TOKEN}` };
  const answers = await Promise.all(Array.from({ length: 5 }, () => remove(admin)));
  expect(answers.map(({ status }) => status).sort()).toEqual([204, 404, 404, 404, 404]);
  for (const path of ['', '/media']) expect((await fetch(`${t.url}/clips/${id}${path}`)).status).toBe(404);
  expect((await listClipIds(t, `wallet=${me.wallet}`)).ids).not.toContain(id);
  await sweepClips(t.app);
  expect(await filesIn(folder)).not.toContain(id);
  expect(await sql(t.app, 'select state, title from clips where id = $1', [id])).toEqual([{ state: 'removed', title: null }]);
  expect(await readRefusal(upload(me, { gameId: GAME, file }))).toBe('409 file must be new: this wallet uploaded it before, and it was removed');
});

/** Returns a stream that generates its bytes when they are read, and counts them. */
function counted(bytes: number) {
  const seen = { bytes: 0 };
  const stream = new Readable({
    highWaterMark: 64 * 1024,
    read() {
      seen.bytes += 64 * 1024;
      this.push(Buffer.alloc(64 * 1024));
      if (seen.bytes >= bytes) this.push(null);
    },
  });
  return { stream, seen };
}

test('a file is read only as fast as the client reads, and a disconnect ends the reading', async () => {
  const { id } = await uploadClip(me);
  const bytes = 512 * 1024 * 1024;
  const { stream, seen } = counted(bytes);
  await sql(t.app, 'update clips set bytes = $2 where id = $1', [id, bytes]);
  await withStorage(t.app, { open: async () => stream }, async () => {
    const socket = connect(Number(new URL(t.url).port), '127.0.0.1').on('error', () => undefined);
    socket.pause().write(`GET /clips/${id}/media HTTP/1.1\r\nHost: x\r\n\r\n`);
    // The socket buffers fill up first.
    let before = -1;
    await waitUntil(async () => {
      before = seen.bytes;
      await sleep(200);
      return before > 0 && seen.bytes === before;
    });
    expect(seen.bytes).toBeLessThan(64 * 1024 * 1024);
    socket.destroy();
    await waitUntil(() => stream.destroyed);
  });
});

test('a read error in the middle of a file aborts the response', async () => {
  const { id } = await uploadClip(me);
  async function* breaking() {
    yield Buffer.alloc(100);
    await sleep(20);
    throw new Error('the disk failed');
  }
  await withStorage(t.app, { open: async () => Readable.from(breaking()) }, async () => {
    const answer = await mediaOf(id);
    expect(answer.status).toBe(200);
    await expect(answer.arrayBuffer()).rejects.toThrow();
  });
});

test('a disconnect before the file is open closes the file', async () => {
  const { id } = await uploadClip(me);
  const gate = createGate();
  const { stream } = counted(1_000_000);
  let isOpening = false;
  const open = async () => {
    isOpening = true;
    await gate.closed;
    return stream;
  };
  await withStorage(t.app, { open }, async () => {
    const abort = new AbortController();
    const answer = fetch(`${t.url}/clips/${id}/media`, { signal: abort.signal }).catch(() => undefined);
    await waitUntil(() => isOpening);
    abort.abort();
    await answer;
    gate.open();
    await waitUntil(() => stream.destroyed);
  });
});
