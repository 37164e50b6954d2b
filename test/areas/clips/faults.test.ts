import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { ReceivedUpload } from '#areas/clips/rows.ts';
import { sweepClips } from '#areas/clips/sweep.ts';
import { storeUpload } from '#areas/clips/upload.ts';
import type { App } from '#platform/app.ts';
import { storageUnavailable } from '#platform/storage/unavailable.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { registerGame } from '#test/support/areas/arcade.ts';
import { sql } from '#test/support/areas/boards.ts';
import { createGate, filesIn, GAME, mp4, upload, uploadClip, waitUntil, withStorage } from '#test/support/areas/clips.ts';
import { randomWallet } from '#test/support/areas/epochs.ts';
import { join as joinArcade } from '#test/support/areas/referrals.ts';
import { holdTransaction, untilBlocked, WAITING_PROCESSES } from '#test/support/locks.ts';
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
/** Advances the clock beyond the upload timeout and runs the sweep. */
async function later(): Promise<void> {
  await t.clock.set(new Date(t.clock.now().getTime() + 16 * 60_000));
  await sweepClips(t.app);
}
/** After each test: every clip has its complete file and one activity, and no other file is left. */
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

test('an aborted upload leaves nothing and can be repeated without a limit', async () => {
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
      await waitUntil(() => drafts.length === i);
      socket.destroy();
      await waitUntil(() => drafts.every(({ closed }) => closed));
    }
  });
  expect(await of(me.wallet)).toEqual([]);
  expect(await filesIn(folder())).toEqual([]);
  expect((await send(me)).status).toBe(201);
});

test('a failing storage gives 503, and the same file is accepted when it works again', async () => {
  const who = await signIn(t);
  const file = mp4();
  const headers = { 'Idempotency-Key': randomUUID() };
  const put = () => Promise.reject(storageUnavailable(new Error('no space left on device')));
  const failed = await withStorage(t.app, { put }, () => send(who, file, headers));
  expect([failed.status, failed.headers.get('Retry-After')]).toEqual([503, '5']);
  expect(await of(who.wallet)).toEqual(['abandoned']);
  expect((await send(who, file, headers)).status).toBe(201);
  const draft = () => Promise.reject(storageUnavailable(new Error('read-only file system')));
  expect((await withStorage(t.app, { draft }, () => send(who))).status).toBe(503);
});

test.each(['before the file is written', 'while the file is written', 'after the file is written'])(
  'an upload whose process is killed %s is swept or can be repeated',
  async (when) => {
    const who = await signIn(t);
    const file = mp4();
    const { put } = t.app.storage;
    const killed: { close(): Promise<void> }[] = [];
    const dies = async (...[id, draft, type]: Parameters<typeof put>) => {
      if (when === 'while the file is written') {
        await mkdir(join(folder(), id.slice(-2)), { recursive: true });
        await writeFile(join(folder(), id.slice(-2), `${id}.part`), 'half of it');
      }
      if (when === 'after the file is written') await put(id, draft, type);
      killed.push(draft);
      await new Promise(() => undefined);
    };
    await withStorage(t.app, { put: dies }, async () => {
      send(who, file).catch(() => undefined);
      await waitUntil(() => killed.length > 0);
    });
    // The operating system closes the files of a killed process.
    for (const draft of killed) await draft.close();
    expect(await of(who.wallet)).toEqual(['uploading']);
    // The sweep must not touch the upload yet, because its process may be alive.
    await sweepClips(t.app);
    expect(await of(who.wallet)).toEqual(['uploading']);
    const other = await signIn(t);
    if (when === 'after the file is written') expect((await send(who, file)).status).toBe(201);
    expect((await send(other, file)).status).toBe(201);
  },
);

test('a commit whose response is lost is valid: the clip exists, and a retry with its key returns it', async () => {
  const who = await signIn(t);
  const file = mp4();
  const headers = { 'Idempotency-Key': randomUUID() };
  const { tx } = t.app;
  let commits = 0;
  const deaf: App['tx'] = async (work) => {
    const value = await tx(work);
    // The first commit inserts the row, the second one marks it as a clip.
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

test('an upload that ends after the sweep is no clip and removes its file', async () => {
  const who = await signIn(t);
  const gate = createGate();
  const { put } = t.app.storage;
  let waiting = false;
  const slow = async (...args: Parameters<typeof put>) => {
    waiting = true;
    await gate.closed;
    await put(...args);
  };
  const late = await withStorage(t.app, { put: slow }, async () => {
    const answer = send(who);
    await waitUntil(() => waiting);
    await later();
    expect(await of(who.wallet)).toEqual([]);
    gate.open();
    return await answer;
  });
  expect(late.status).toBe(409);
  expect(await of(who.wallet)).toEqual([]);
});

test('concurrent uploads of the same file are one clip', async () => {
  const who = await signIn(t);
  const file = mp4();
  const statuses = (await Promise.all(Array.from({ length: 4 }, () => send(who, file)))).map(({ status }) => status);
  expect(statuses.filter((status) => status === 201)).toHaveLength(1);
  expect(statuses.filter((status) => status === 409)).toHaveLength(3);
  expect((await of(who.wallet)).filter((state) => state === 'ready')).toHaveLength(1);
});

test('concurrent uploads with the same Idempotency-Key are one clip', async () => {
  const who = await signIn(t);
  const file = mp4();
  const headers = { 'Idempotency-Key': randomUUID() };
  const answers = await Promise.all(Array.from({ length: 4 }, () => send(who, file, headers)));
  const ids = await Promise.all(answers.filter(({ status }) => status === 201).map(async (answer) => ((await answer.json()) as { id: string }).id));
  expect(new Set(ids).size).toBe(1);
  for (const answer of answers) if (answer.status !== 201) expect([answer.status, answer.headers.get('Retry-After')]).toEqual([409, '5']);
  expect((await send(who, file, headers)).status).toBe(201);
});

test('a wallet that is banned during its upload gets no clip', async () => {
  const who = await signIn(t);
  const { put } = t.app.storage;
  const banning = async (...args: Parameters<typeof put>) => {
    await put(...args);
    await sql(t.app, 'update players set banned_at = app_now() where wallet = $1', [who.wallet]);
  };
  expect((await withStorage(t.app, { put: banning }, () => send(who))).status).toBe(403);
});

test('a wallet has at most four concurrent uploads, and they do not delay other wallets', async () => {
  const who = await signIn(t);
  const gate = createGate();
  const { put } = t.app.storage;
  let waiting = 0;
  const slow = async (...args: Parameters<typeof put>) => {
    waiting++;
    await gate.closed;
    await put(...args);
  };
  await withStorage(t.app, { put: slow }, async () => {
    const four = Array.from({ length: 4 }, () => send(who));
    await waitUntil(() => waiting === 4);
    const fifth = await send(who);
    expect([fifth.status, fifth.headers.get('Retry-After')]).toEqual([429, '5']);
    const other = send(me);
    await waitUntil(() => waiting === 5);
    gate.open();
    expect((await Promise.all([...four, other])).map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
  });
  expect((await send(who)).status).toBe(201);
});

/** Stores several received uploads of one wallet concurrently. */
async function keepAll(wallet: string, files: readonly Buffer[]) {
  const one = async (file: Buffer) => {
    const draft = await t.app.storage.draft();
    try {
      await draft.fill(Readable.from([file]), file.length, () => undefined);
      const given: ReceivedUpload = {
        wallet,
        gameId: GAME,
        title: null,
        type: 'video/mp4',
        bytes: draft.bytes,
        sha256: draft.sha256,
        idempotencyKey: null,
      };
      return await storeUpload(t.app, given, draft);
    } finally {
      await draft.close();
    }
  };
  const outcomes = await Promise.allSettled(files.map(one));
  return outcomes.map((outcome) => (outcome.status === 'fulfilled' ? 201 : (outcome.reason as { status: number }).status));
}

test('of 60 concurrent uploads, 50 become clips', async () => {
  const wallet = randomWallet();
  await joinArcade(t.app, wallet);
  const statuses = await keepAll(
    wallet,
    Array.from({ length: 60 }, () => mp4()),
  );
  expect([201, 429].map((status) => statuses.filter((one) => one === status).length)).toEqual([50, 10]);
  expect((await of(wallet)).filter((state) => state === 'ready')).toHaveLength(50);
});

test('failed uploads do not count towards the daily limit', async () => {
  const wallet = randomWallet();
  await joinArcade(t.app, wallet);
  const put = () => Promise.reject(storageUnavailable(new Error('no')));
  const failed = await withStorage(t.app, { put }, () =>
    keepAll(
      wallet,
      Array.from({ length: 60 }, () => mp4()),
    ),
  );
  expect(failed.filter((status) => status === 503).length).toBeGreaterThanOrEqual(50);
  expect(await keepAll(wallet, [mp4(), mp4()])).toEqual([201, 201]);
});

test('a file that cannot be removed is retried and does not delay the others', async () => {
  const who = await signIn(t);
  const [stuck, ...others] = (await Promise.all([uploadClip(who), uploadClip(who), uploadClip(who)])).map(({ id }) => id);
  if (!stuck) throw new Error('a clip is missing');
  for (const id of [stuck, ...others]) {
    await fetch(`${t.url}/admin/clips/${id}`, { method: 'DELETE', headers: { Authorization: `Bearer ${ADMIN_TOKEN}` } });
  }
  const { remove } = t.app.storage;
  const refuses = (id: string) => (id === stuck ? Promise.reject(storageUnavailable(new Error('busy'))) : remove(id));
  await withStorage(t.app, { remove: refuses }, () => Promise.all([sweepClips(t.app), sweepClips(t.app)]));
  expect((await of(who.wallet)).sort()).toEqual(['removed', 'removed', 'removing']);
  await later();
  expect(await of(who.wallet)).toEqual(['removed', 'removed', 'removed']);
});

test('a stopped process that finds a cancelled lock and the refused statements behind it at once gives 503 for its upload', async () => {
  const who = await signIn(t);
  const release = await holdTransaction(t.app, (tx) => tx.query({ text: 'select from players where wallet = $1 for update' }, [who.wallet]));
  const sent = send(who);
  await untilBlocked(t.app, sent);
  const cancelled = sql(t.app, `select pg_cancel_backend(pid) from (${WAITING_PROCESSES}) w, pg_sleep(0.2)`);
  await sleep(50);
  // Stops this process while PostgreSQL answers.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
  const [answer] = await Promise.all([sent, cancelled, release()]);
  expect([answer.status, await answer.json()]).toEqual([503, { error: 'a dependency of the service is not available, try again' }]);
  expect((await send(who)).status).toBe(201);
});
