import { createHash, randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { inspect } from '#areas/clips/inspect.ts';
import { MAX_CLIP_BYTES } from '#areas/clips/schemas.ts';
import { seedInitialQuests } from '#areas/seeds.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { registerGame } from '#test/support/areas/arcade.ts';
import { sql } from '#test/support/areas/boards.ts';
import { ebml, type Form, GAME, gif, listClipIds, mp4, readRefusal, setBan, upload, uploadClip, webm } from '#test/support/areas/clips.ts';
import { asAdmin, consume, earned, ownQuest } from '#test/support/areas/quests.ts';
import { sendRaw } from '#test/support/http/framework.ts';
import { type SignedIn, send, signIn } from '#test/support/wallet.ts';

const OTHER_GAME = 'other-game';

let t: TestApp;
let me: SignedIn;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  await registerGame(t.url, ADMIN_TOKEN, GAME);
  await registerGame(t.url, ADMIN_TOKEN, OTHER_GAME);
  me = await signIn(t);
});
afterAll(() => t.close());

/** Inserts `n` clips of today. */
const uploaded = (wallet: string, n: number, bytes = 1) =>
  sql(
    t.app,
    `insert into clips (id, wallet, game_id, type, bytes, sha256, day, state) select gen_random_uuid(), $1, 'past', 'image/gif', $3::int,
       sha256(convert_to(gen_random_uuid()::text, 'UTF8')), app_day(), 'removed' from generate_series(1, $2::int)`,
    [wallet, n, bytes],
  );
/** Sends the headers of an upload with a Content-Length, and waits for the response before it sends the body. */
const announce = (who: SignedIn, bytes: number) => {
  const head = ['POST /clip/upload HTTP/1.1', 'Host: x', `Cookie: ${who.cookie}`, 'Content-Type: multipart/form-data; boundary=b'];
  return sendRaw(Number(new URL(t.url).port), `${[...head, `Content-Length: ${bytes}`].join('\r\n')}\r\n\r\n`);
};

test('a session uploads a clip, with the file first or last in the form', async () => {
  expect(await readRefusal(upload({ fetch: (path, init) => send(t, path, init) }))).toMatch(/^401 /);
  const clip = await uploadClip(me, { title: '  The last brick — 最後 ', file: mp4(100_000), gameId: GAME });
  expect(clip).toEqual({
    ...{ id: clip.id, wallet: me.wallet, gameId: GAME, title: 'The last brick — 最後', type: 'video/mp4', bytes: 100_000 },
    ...{ url: `http://coinop.test/clips/${clip.id}/media`, createdAt: expect.any(String) },
  });
  expect(await (await fetch(`${t.url}/clips/${clip.id}`)).json()).toEqual(clip);
  expect((await listClipIds(t, `wallet=${me.wallet}`)).ids).toContain(clip.id);
});

test.each([
  ['mp4', mp4(), 'video/mp4'],
  ['mp4 of Safari', mp4(500, 1, 'mp42'), 'video/mp4'],
  ['mp4 of iTunes', mp4(500, 2, 'M4V '), 'video/mp4'],
  ['webm', webm(), 'video/webm'],
  ['gif', gif(), 'image/gif'],
])('%s is detected by its content, not by its file name', async (_name, file, type) => {
  expect(await uploadClip(me, { file, gameId: GAME })).toMatchObject({ type, title: null, bytes: file.length });
});

test.each([
  ['a page', Buffer.from('<!doctype html><script>alert(1)</script>')],
  ['a QuickTime video', mp4(500, 1, 'qt  ')],
  ['a HEIC image', mp4(500, 1, 'heic')],
  ['an AVIF image', mp4(500, 1, 'avif')],
  ['an audio file', mp4(500, 1, 'M4A ')],
  ['a Matroska video', ebml('matroska')],
  ['an EBML header without a type', Buffer.from('1a45dfa39f42868101', 'hex')],
  ['EBML whose size exceeds the file', Buffer.from('1a45dfa3ffffff', 'hex')],
  ['a GIF of size 0', Buffer.from('4749463839610000000080', 'hex')],
  ['a GIF signature alone', Buffer.from('GIF89a')],
  ['an ftyp box that is too short', Buffer.from('00000008667479706973', 'hex')],
  ['an empty file', Buffer.alloc(0)],
  ['a GIF without an image', Buffer.from('47494638396101000100800000ffffff0000003b', 'hex')],
  ['a GIF that ends within an image', gif().subarray(0, -4)],
  ['a GIF with bytes after its end', Buffer.concat([gif(), Buffer.from('<script>')])],
])('%s is refused with 415', async (_type, file) => {
  expect(await readRefusal(upload(me, { gameId: GAME, file }))).toBe('415 the content of file must be one of video/mp4, video/webm, image/gif');
});

const header = Buffer.from('00000020667479706d703432000000006d70343269736f6d6176633169736f32', 'hex');
test.each([
  ['an MP4 header alone', header, 'video/mp4'],
  ['an MP4 header before a page', Buffer.concat([header, Buffer.from('<!doctype html><script>alert(1)</script>'.repeat(20))]), 'video/mp4'],
  ['an MP4 that was cut off before its frame', mp4().subarray(0, 400), 'video/mp4'],
  ['a WebM header alone', ebml('webm'), 'video/webm'],
  ['a WebM that was cut off before its frame', webm().subarray(0, 200), 'video/webm'],
  ['an MP4 whose table of frames claims more than the file has', tableBomb(), 'video/mp4'],
])('%s is refused with 415, because it is no complete video', async (_name, file, type) => {
  expect(await readRefusal(upload(me, { gameId: GAME, file }))).toBe(`415 file must be a complete ${type} with a video track`);
});

test('a file that makes the parser loop is refused after its CPU time, not after the longest time of an inspection', async () => {
  const started = performance.now();
  expect((await upload(me, { gameId: GAME, file: ebml('webm') })).status).toBe(415);
  expect(performance.now() - started).toBeLessThan(9_000);
});

test('a video that is not inspected in time, because the process is stopped or busy, gets 503 and not 415', async () => {
  const draft = await t.app.storage.draft();
  try {
    const file = mp4();
    await draft.fill(Readable.from([file]), file.length, () => undefined);
    await expect(inspect(draft, 'video/mp4', 1)).rejects.toMatchObject({ status: 503 });
    expect(await inspect(draft, 'video/mp4')).toBe(true);
  } finally {
    await draft.close();
  }
});

/** Returns an MP4 whose box `stts` (times of the frames) announces four thousand million entries. */
function tableBomb(): Buffer {
  const file = mp4();
  file.writeUInt32BE(0xffffffff, file.indexOf('stts') + 8);
  return file;
}

test.each<[string, Form]>([
  ['400 file is required and must be a file', { gameId: GAME }],
  ['400 gameId is required and must be text', { file: mp4() }],
  ['400 gameId must be 1 to 64 lower-case letters, digits and inner hyphens', { file: mp4(), gameId: '../etc' }],
  ['404 gameId must be a game of this arcade', { file: mp4(), gameId: 'no-such-game' }],
  ['400 title must not be empty', { file: mp4(), gameId: GAME, title: ' ' }],
  ['400 title must be at most 120 characters', { file: mp4(), gameId: GAME, title: 'x'.repeat(121) }],
  ['400 title must be at most 4096 bytes', { file: mp4(), gameId: GAME, title: 'x'.repeat(5_000) }],
  ['400 title must not contain control characters', { file: mp4(), gameId: GAME, title: 'a\u0007b' }],
  ['400 wallet is not a known field', { file: mp4(), gameId: GAME, wallet: 'somebody' }],
  ['400 video is not a known file', { gameId: GAME, video: mp4() }],
  ['400 file must be a file', { gameId: GAME, file: 'text' }],
])('an invalid form is refused: %s', async (refusal, form) => {
  expect(await readRefusal(upload(me, form))).toBe(refusal);
});

test('a JSON body and a form from a foreign origin are refused', async () => {
  expect(await readRefusal(me.fetch('/clip/upload', { json: { gameId: GAME } }))).toBe('415 Content-Type must be multipart/form-data');
  expect(await readRefusal(upload(me, undefined, { Origin: 'https://evil.example' }))).toMatch(/^403 Origin/);
});

test('a clip of 50 MB is accepted, one byte more is refused', async () => {
  const file = mp4(MAX_CLIP_BYTES);
  const { id } = await uploadClip(me, { gameId: GAME, file });
  const hashOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
  expect(hashOf(Buffer.from(await (await fetch(`${t.url}/clips/${id}/media`)).arrayBuffer()))).toBe(hashOf(file));
  // Ids are canonical, so an id in capitals is unknown.
  expect((await fetch(`${t.url}/clips/${id.toUpperCase()}/media`)).status).toBe(404);
  const larger = Buffer.concat([file, Buffer.alloc(1)]);
  expect(await readRefusal(upload(me, { gameId: GAME, file: larger }))).toBe(`413 file must be at most ${MAX_CLIP_BYTES} bytes`);
});

test('an upload with a Content-Length above the maximum is refused before its body is sent', async () => {
  expect(await announce(me, 60_000_000)).toMatch(/^HTTP\/1.1 413 .*the body must be at most/s);
});

test('the same file of the same wallet is refused, the same file of another wallet is another clip', async () => {
  const file = mp4();
  const first = await uploadClip(me, { gameId: GAME, file });
  const again = await upload(me, { gameId: OTHER_GAME, file });
  expect(again.headers.get('Location')).toBe(`/clips/${first.id}`);
  expect(await readRefusal(again)).toBe(`409 file must be new: this wallet uploaded it before as clip ${first.id}`);
  expect((await uploadClip(await signIn(t), { gameId: GAME, file })).id).not.toBe(first.id);
});

test('a repeated upload with one Idempotency-Key returns the same clip, and another upload with it is refused', async () => {
  const form = { gameId: GAME, title: 'One', file: mp4() };
  const headers = { 'Idempotency-Key': randomUUID() };
  const first = await uploadClip(me, form, headers);
  expect(await uploadClip(me, form, headers)).toEqual(first);
  for (const other of [{ file: mp4() }, { gameId: OTHER_GAME }, { title: 'Two' }]) {
    expect(await readRefusal(upload(me, { ...form, ...other }, headers))).toBe('409 Idempotency-Key was used before with another body');
  }
  expect(await readRefusal(upload(me, { ...form, file: mp4() }, { 'Idempotency-Key': 'a b' }))).toMatch(/^400 Idempotency-Key/);
  await asAdmin(t, `/admin/clips/${first.id}`, { method: 'DELETE' });
  expect(await readRefusal(upload(me, form, headers))).toBe('409 file must be new: this wallet uploaded it before, and it was removed');
});

test('a wallet uploads at most 50 clips per day; the next upload is refused before its body is sent, with the end of the day', async () => {
  const who = await signIn(t);
  const [last, headers] = [{ gameId: GAME, file: mp4() }, { 'Idempotency-Key': randomUUID() }];
  await uploaded(who.wallet, 49);
  const clip = await uploadClip(who, last, headers);
  const answer = await announce(who, 9);
  expect(answer).toMatch(/^HTTP\/1.1 429 .*a wallet may upload at most 50 clips/s);
  const left = 86_400 - (Math.floor(t.clock.now().getTime() / 1_000) % 86_400);
  expect(Math.abs(left - Number(/retry-after: (\d+)/i.exec(answer)?.[1]))).toBeLessThan(600);
  // A repeated upload with the same key is accepted above the limit.
  expect(await uploadClip(who, last, headers)).toEqual(clip);
});

test('a wallet uploads at most 1 GB per day', async () => {
  const who = await signIn(t);
  await uploaded(who.wallet, 1, 1024 * 1024 * 1024 - 1_500);
  const limit = '429 a wallet may upload at most 50 clips and 1073741824 bytes per UTC day';
  expect(await readRefusal(upload(who, { gameId: GAME, file: mp4(1_501) }))).toBe(limit);
  await uploadClip(who, { gameId: GAME, file: mp4(1_500) });
  expect(await readRefusal(upload(who, { gameId: GAME, file: gif() }))).toBe(limit);
});

test('a banned wallet cannot upload, and its clips are hidden while it is banned', async () => {
  const who = await signIn(t);
  const { id } = await uploadClip(who);
  await setBan(t.app, who.wallet, '2026-01-01');
  expect(await readRefusal(upload(who))).toBe('403 this wallet is banned');
  expect(await listClipIds(t, `wallet=${who.wallet}`)).toEqual({ ids: [], total: 0 });
  expect((await fetch(`${t.url}/clips/${id}/media`)).status).toBe(404);
  await setBan(t.app, who.wallet, null);
  expect(await listClipIds(t, `wallet=${who.wallet}`)).toEqual({ ids: [id], total: 1 });
  expect((await fetch(`${t.url}/clips/${id}/media`)).status).toBe(200);
});

test('an upload completes the seeded quest clip-upload once', async () => {
  await seedInitialQuests(t.app.orm);
  const who = await signIn(t);
  expect(await ownQuest(who, 'clip-upload')).toMatchObject({ completed: false, missing: ['1 more clip'] });
  const { id } = await uploadClip(who);
  await uploadClip(who);
  expect(await sql(t.app, 'select kind, game_id as game from activities where source_id = $1', [id])).toEqual([{ kind: 'clip', game: GAME }]);
  await consume(t.app);
  expect(await ownQuest(who, 'clip-upload')).toMatchObject({ completed: true, pointsAwarded: 50 });
  expect(await earned(t.app, who.wallet)).toEqual({ 'clip-upload:once': 50 });
});

test('the daily limit resets on the next day', async () => {
  const who = await signIn(t);
  await uploaded(who.wallet, 50);
  expect((await upload(who)).status).toBe(429);
  await t.clock.set(new Date(t.clock.now().getTime() + 86_400_000));
  await uploadClip(who);
});
