import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { Upload } from '#areas/clips/rows.ts';
import { sweepClips } from '#areas/clips/sweep.ts';
import { keepUpload } from '#areas/clips/upload.ts';
import type { App } from '#platform/app.ts';
import { storageDown } from '#platform/storage/down.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { registerGame } from '#test/support/areas/arcade.ts';
import { sql } from '#test/support/areas/boards.ts';
import { clipOf, door, filesIn, GAME, mp4, until, upload, withStorage } from '#test/support/areas/clips.ts';
import { anyWallet } from '#test/support/areas/epochs.ts';
import { join as joinArcade } from '#test/support/areas/referrals.ts';
import { type SignedIn, signIn } from '#test/support/wallet.ts';

let t: TestApp;
let me: SignedIn;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  await registerGame(t.url, ADMIN_TOKEN, GAME);
  me = await signIn(t);
});
afterAll(() => t.close());

const folder = () => t.env.MEDIA_FOLDER ?? '';
const send = (who: SignedIn, file = mp4(), headers = {}) => upload(who, { gameId: GAME, file }, headers);
const rows = () => sql<{ id: string; state: string; wallet: string }>(t.app, 'select id, state, wallet from clips order by created_at, id');
const of = async (wallet: string) => (await rows()).filter((row) => row.wallet === wallet).map(({ state }) => state);
/** Later than anybody may still be uploading, with the sweep done. */
async function later(): Promise<void> {
  await t.clock.set(new Date(t.clock.now().getTime() + 16 * 60_000));
  await sweepClips(t.app);
}
/** Of whatever happened, what is a clip is whole, counted once, and nothing else is left. */
afterEach(async () => {
  await later();
  const clips = await rows();
  expect(clips.filter(({ state }) => state !== 'ready' && state !== 'removed')).toEqual([]);
  const idsOf = (...states: string[]) => clips.flatMap(({ id, state }) => (states.includes(state) ? [id] : [])).sort();
  expect((await filesIn(folder())).sort()).toEqual(idsOf('ready'));
  const counted = await sql<{ id: string }>(t.app, `select source_id as id from activities where kind = 'clip'`);
  expect(counted.map(({ id }) => id).sort()).toEqual(idsOf('ready', 'removed'));
});

const bodyOf = (bytes: number) => `--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n${mp4(bytes).toString('latin1')}`;

test('a sender who goes away in the middle has left nothing, and may begin again as often as he likes', async () => {
  const drafts: { closed: boolean }[] = [];
  const { draft } = t.app.storage;
  const watched = async () => {
    const made = await draft();
    const seen = { closed: false };
    drafts.push(seen);
    const close = made.close.bind(made);
    return Object.assign(made, {
      async close() {
        await close();
        seen.closed = true;
      },
    });
  };
  await withStorage(t.app, { draft: watched }, async () => {
    for (let i = 1; i <= 6; i++) {
      const socket = connect(Number(new URL(t.url).port), '127.0.0.1').on('error', () => undefined);
      const head = `POST /clip/upload HTTP/1.1\r\nHost: x\r\nCookie: ${me.cookie}\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 900000\r\n\r\n`;
      socket.write(Buffer.from(head + bodyOf(200_000), 'latin1'));
      await until(() => drafts.length === i);
      socket.destroy();
      await until(() => drafts.every(({ closed }) => closed));
    }
  });
  expect(await of(me.wallet)).toEqual([]);
  expect(await filesIn(folder())).toEqual([]);
  expect((await send(me)).status).toBe(201);
});

test('a storage that fails is 503, and the same file is taken as soon as it works again', async () => {
  const who = await signIn(t);
  const file = mp4();
  const headers = { 'Idempotency-Key': randomUUID() };
  const put = () => Promise.reject(storageDown(new Error('no space left on device')));
  const failed = await withStorage(t.app, { put }, () => send(who, file, headers));
  expect([failed.status, failed.headers.get('Retry-After')]).toEqual([503, '5']);
  expect(await of(who.wallet)).toEqual(['abandoned']);
  expect((await send(who, file, headers)).status).toBe(201);
  const draft = () => Promise.reject(storageDown(new Error('read-only file system')));
  expect((await withStorage(t.app, { draft }, () => send(who))).status).toBe(503);
});

test.each(['before anything is kept', 'while it is being kept', 'when it is kept'])(
  'killed %s, an upload is swept away, or done again',
  async (when) => {
    const who = await signIn(t);
    const file = mp4();
    const { put } = t.app.storage;
    const killed: { close(): Promise<void> }[] = [];
    const dies = async (...[id, draft, type]: Parameters<typeof put>) => {
      if (when === 'while it is being kept') {
        await mkdir(join(folder(), id.slice(-2)), { recursive: true });
        await writeFile(join(folder(), id.slice(-2), `${id}.part`), 'half of it');
      }
      if (when === 'when it is kept') await put(id, draft, type);
      killed.push(draft);
      await new Promise(() => undefined);
    };
    await withStorage(t.app, { put: dies }, async () => {
      void send(who, file).catch(() => undefined);
      await until(() => killed.length > 0);
    });
    // The system does it for whoever is killed.
    for (const draft of killed) await draft.close();
    expect(await of(who.wallet)).toEqual(['uploading']);
    // Nobody may come and sweep it yet: it might be alive.
    await sweepClips(t.app);
    expect(await of(who.wallet)).toEqual(['uploading']);
    const other = await signIn(t);
    if (when === 'when it is kept') expect((await send(who, file)).status).toBe(201);
    expect((await send(other, file)).status).toBe(201);
  },
);

test('a commit that nobody heard of stands: the clip is there, and is answered under its key', async () => {
  const who = await signIn(t);
  const file = mp4();
  const headers = { 'Idempotency-Key': randomUUID() };
  const { tx } = t.app;
  let commits = 0;
  const deaf: App['tx'] = async (work) => {
    const value = await tx(work);
    // The first one takes the place, the second one makes it a clip.
    if (++commits === 2) throw new Error('Connection terminated unexpectedly');
    return value;
  };
  Object.assign(t.app, { tx: deaf });
  const failed = await send(who, file, headers);
  Object.assign(t.app, { tx });
  expect(failed.status).toBe(503);
  expect(await of(who.wallet)).toEqual(['ready']);
  expect((await send(who, file, headers)).status).toBe(201);
  expect((await send(who, file)).status).toBe(409);
});

test('an upload that comes to its end after it was swept away is no clip, and tidies up', async () => {
  const who = await signIn(t);
  const gate = door();
  const { put } = t.app.storage;
  let waiting = false;
  const slow = async (...args: Parameters<typeof put>) => {
    waiting = true;
    await gate.closed;
    await put(...args);
  };
  const late = await withStorage(t.app, { put: slow }, async () => {
    const answer = send(who);
    await until(() => waiting);
    await later();
    expect(await of(who.wallet)).toEqual([]);
    gate.open();
    return await answer;
  });
  expect(late.status).toBe(409);
  expect(await of(who.wallet)).toEqual([]);
});

test('the same file at the same time is one clip', async () => {
  const who = await signIn(t);
  const file = mp4();
  const statuses = (await Promise.all(Array.from({ length: 4 }, () => send(who, file)))).map(({ status }) => status);
  expect(statuses.filter((status) => status === 201)).toHaveLength(1);
  expect(statuses.filter((status) => status === 409)).toHaveLength(3);
  expect((await of(who.wallet)).filter((state) => state === 'ready')).toHaveLength(1);
});

test('as it is under the same Idempotency-Key, whoever waits for it', async () => {
  const who = await signIn(t);
  const file = mp4();
  const headers = { 'Idempotency-Key': randomUUID() };
  const answers = await Promise.all(Array.from({ length: 4 }, () => send(who, file, headers)));
  const ids = await Promise.all(answers.filter(({ status }) => status === 201).map(async (answer) => ((await answer.json()) as { id: string }).id));
  expect(new Set(ids).size).toBe(1);
  for (const answer of answers) if (answer.status !== 201) expect([answer.status, answer.headers.get('Retry-After')]).toEqual([409, '5']);
  expect((await send(who, file, headers)).status).toBe(201);
});

test('a wallet that is banned while it uploads has uploaded nothing', async () => {
  const who = await signIn(t);
  const { put } = t.app.storage;
  const banning = async (...args: Parameters<typeof put>) => {
    await put(...args);
    await sql(t.app, 'update players set banned_at = app_now() where wallet = $1', [who.wallet]);
  };
  expect((await withStorage(t.app, { put: banning }, () => send(who))).status).toBe(403);
});

test('a wallet has four uploads on their way at most, others are not kept waiting by it', async () => {
  const who = await signIn(t);
  const gate = door();
  const { put } = t.app.storage;
  let waiting = 0;
  const slow = async (...args: Parameters<typeof put>) => {
    waiting++;
    await gate.closed;
    await put(...args);
  };
  await withStorage(t.app, { put: slow }, async () => {
    const four = Array.from({ length: 4 }, () => send(who));
    await until(() => waiting === 4);
    const fifth = await send(who);
    expect([fifth.status, fifth.headers.get('Retry-After')]).toEqual([429, '5']);
    const other = send(me);
    await until(() => waiting === 5);
    gate.open();
    expect((await Promise.all([...four, other])).map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
  });
  expect((await send(who)).status).toBe(201);
});

/** Uploads of one wallet that have all arrived, kept at once. */
async function keepAll(wallet: string, files: readonly Buffer[]) {
  const one = async (file: Buffer) => {
    const draft = await t.app.storage.draft();
    try {
      await draft.fill(Readable.from([file]), file.length, () => undefined);
      const given: Upload = { wallet, gameId: GAME, title: null, type: 'video/mp4', bytes: draft.bytes, sha256: draft.sha256, idempotencyKey: null };
      return await keepUpload(t.app, given, draft);
    } finally {
      await draft.close();
    }
  };
  const outcomes = await Promise.allSettled(files.map(one));
  return outcomes.map((outcome) => (outcome.status === 'fulfilled' ? 201 : (outcome.reason as { status: number }).status));
}

test('of 60 uploads at once, 50 are clips', async () => {
  const wallet = anyWallet();
  await joinArcade(t.app, wallet);
  const statuses = await keepAll(
    wallet,
    Array.from({ length: 60 }, () => mp4()),
  );
  expect([201, 429].map((status) => statuses.filter((one) => one === status).length)).toEqual([50, 10]);
  expect((await of(wallet)).filter((state) => state === 'ready')).toHaveLength(50);
});

test('uploads that come to nothing do not count', async () => {
  const wallet = anyWallet();
  await joinArcade(t.app, wallet);
  const put = () => Promise.reject(storageDown(new Error('no')));
  const failed = await withStorage(t.app, { put }, () =>
    keepAll(
      wallet,
      Array.from({ length: 60 }, () => mp4()),
    ),
  );
  expect(failed.filter((status) => status === 503).length).toBeGreaterThanOrEqual(50);
  expect(await keepAll(wallet, [mp4(), mp4()])).toEqual([201, 201]);
});

test('a file that cannot be removed is tried again, and keeps none of the others', async () => {
  const who = await signIn(t);
  const [stuck, ...others] = (await Promise.all([clipOf(who), clipOf(who), clipOf(who)])).map(({ id }) => id);
  if (!stuck) throw new Error('nothing was uploaded');
  for (const id of [stuck, ...others]) {
    await fetch(`${t.url}/admin/clips/${id}`, { method: 'DELETE', headers: { Authorization: `Bearer ${ADMIN_TOKEN}` } });
  }
  const { remove } = t.app.storage;
  const refuses = (id: string) => (id === stuck ? Promise.reject(storageDown(new Error('busy'))) : remove(id));
  await withStorage(t.app, { remove: refuses }, () => Promise.all([sweepClips(t.app), sweepClips(t.app)]));
  expect((await of(who.wallet)).sort()).toEqual(['removed', 'removed', 'removing']);
  await later();
  expect(await of(who.wallet)).toEqual(['removed', 'removed', 'removed']);
});
