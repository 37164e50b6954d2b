import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { notification } from '#areas/social/events.ts';
import { FILE, generate } from '#packages/client/generate.ts';
import { ApiError, type Client, createClient, type EventOf, followEvents, ok, signIn } from '#packages/client/src/index.ts';
import { BlockReader } from '#packages/client/src/sse.ts';
import { streamsOf } from '#platform/events/sse.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { registerGame } from '#test/support/areas/arcade.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { FlakyProxy } from '#test/support/http/flaky-proxy.ts';
import { countRows } from '#test/support/sign-in.ts';
import { createWallet, signInText } from '#test/support/wallet.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const GAME = 'client-game';

let t: TestApp;
let front: FlakyProxy;
const connect = (options: Partial<Parameters<typeof createClient>[0]> = {}) => createClient({ baseUrl: front.url, ...options });
async function signedInClient(): Promise<Client> {
  const client = connect();
  const wallet = createWallet();
  await signIn(client, { address: wallet.address, signMessage: (message) => wallet.sign(message) });
  return client;
}
const notify = (...texts: string[]) =>
  t.app.tx(async (tx) => {
    for (const text of texts) tx.emit(notification, { text });
  });

beforeAll(async () => {
  t = await startTestApp();
  streamsOf(t.app).setTimes({ heartbeatMs: 100 });
  front = await FlakyProxy.start(t.url);
  await registerGame(t.url, ADMIN_TOKEN, GAME);
});
afterAll(async () => {
  await front.close();
  await t.close();
});

test('the committed api.ts is up to date (node packages/client/generate.ts writes it)', async () => {
  expect((await readFile(FILE, 'utf8')) === generate()).toBe(true);
});

/** Code of a user who has installed the package. */
const SAMPLE = `
import { type Api, createClient, followEvents, keypairSigner, ok, ApiError, signIn } from '@coinop/client';

const client = createClient({ baseUrl: '${'BASE_URL'}' });
const { wallet } = await signIn(client, await keypairSigner(crypto.getRandomValues(new Uint8Array(32))));
const stop = new AbortController();
let score = 0;
let connect = () => {};
const connected = new Promise<void>((resolve) => { connect = resolve; });
const events = followEvents(client, {
  categories: ['gameplay'],
  signal: stop.signal,
  onConnection: (isOpen) => { if (isOpen) connect(); },
  onReset: () => {},
  onEvent(event) {
    // @ts-expect-error the event type belongs to another category
    if (event.type === 'winner_announced') return;
    if (event.type === 'score_update') score = event.updates.find((update) => update.wallet === wallet)?.score ?? score;
    if (score > 0) stop.abort();
  },
});
await connected;
const { body: play } = await ok(client.post('/game/{id}/play', { params: { id: '${GAME}' }, idempotencyKey: 'one' }));
const receipt: Api.ScoreReceipt = (await ok(client.post('/arcade/score', { body: { gameId: '${GAME}', score: 4200, playId: play.playId } }))).body;
await events;
const board = await client.get('/game/{id}/leaderboard', { params: { id: '${GAME}' }, query: { period: 'day', limit: 3 } });
let first: Api.LeaderboardEntry | undefined;
if (board.ok) first = board.body[0];
else if (board.status === 304) board.body satisfies null;
else board.body.error satisfies string;
const missing = await ok(client.get('/game/{id}/stats', { params: { id: 'nothing' } })).catch((error: unknown) => error);
console.log(JSON.stringify({ receipt: receipt.normalizedScore, score, first: first?.wallet === wallet, missing: missing instanceof ApiError && missing.status }));

/** Code that must not compile. */
export const wrong = [
  // @ts-expect-error no such path
  () => client.get('/config/game'),
  // @ts-expect-error params are required
  () => client.get('/game/{id}/leaderboard'),
  // @ts-expect-error no such period
  () => client.get('/game/{id}/leaderboard', { params: { id: 'a' }, query: { period: 'hour' } }),
  // @ts-expect-error the endpoint takes no body
  () => client.get('/config/games', { body: {} }),
  // @ts-expect-error the endpoint takes no idempotency key
  () => client.post('/auth/nonce', { idempotencyKey: 'a' }),
  // @ts-expect-error no such field
  () => client.post('/arcade/score', { body: { gameId: 'a', score: 1, cheat: true } }),
  // @ts-expect-error the body of a 304 response is null
  async () => { const answer = await client.get('/config/games'); return answer.status === 304 && answer.body.length; },
  // @ts-expect-error onReset is required
  () => followEvents(client, { onEvent() {} }),
];
`;

test('the packed client installs without dependencies, compiles in strict mode, and works', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'coinop-client-'));
  try {
    const npm = (args: string[], cwd: string) => run('npm', [...args, '--offline', '--no-audit', '--no-fund', '--loglevel=error'], { cwd });
    await npm(['pack', '--pack-destination', folder], join(root, 'packages/client'));
    await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
    await npm(['install', './coinop-client-0.2.0.tgz'], folder);
    await writeFile(join(folder, 'sample.ts'), SAMPLE.replace('BASE_URL', t.url));
    const compilerOptions = { target: 'es2022', module: 'nodenext', types: [], strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['sample.ts'] }));
    const compiled = await run(join(root, 'node_modules/.bin/tsc'), ['-p', folder]).catch((error: { stdout: string }) => error);
    expect(compiled.stdout).toBe('');
    const { stdout } = await run(process.execPath, ['sample.js'], { cwd: folder });
    expect(JSON.parse(stdout)).toEqual({ receipt: 4200, score: 4200, first: true, missing: 404 });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test('wallets sign in with solana:signIn, a message or a transaction; the client stores the session and ends it', async () => {
  const wallet = createWallet();
  const { address } = wallet;
  const wallets: Parameters<typeof signIn>[1][] = [
    {
      async signIn(input) {
        const signedMessage = Buffer.from(signInText(input, address));
        return [{ account: { address }, signedMessage, signature: wallet.sign(signedMessage) }];
      },
    },
    { address, signMessage: (message) => wallet.sign(message) },
    { address, signTransaction: (bytes) => Uint8Array.from([1, ...wallet.sign(bytes.subarray(65)), ...bytes.subarray(65)]) },
  ];
  for (const one of wallets) {
    const client = connect();
    expect(client.cookie).toBe('');
    expect((await signIn(client, one)).wallet).toBe(address);
    expect((await ok(client.get('/me'))).body.wallet).toBe(address);
    const later = connect({ cookie: client.cookie });
    expect((await later.get('/me')).status).toBe(200);
    await ok(client.post('/auth/logout'));
    expect(client.cookie).toBe('');
    expect((await later.get('/me')).status).toBe(401);
  }
  const stranger = { address, signMessage: (message: Uint8Array) => createWallet().sign(message) };
  await expect(signIn(connect(), stranger)).rejects.toMatchObject({ name: 'ApiError', status: 401 });
});

test('an error response of the service or a proxy is a value with an error sentence, and an exception of ok()', async () => {
  const client = await signedInClient();
  const answer = await client.post('/arcade/score', { body: { gameId: GAME, score: 1 } });
  expect(answer).toMatchObject({ ok: false, status: 400, error: expect.stringContaining('playId'), retryAfter: null });
  await expect(ok(client.get('/game/{id}/stats', { params: { id: 'nothing' } }))).rejects.toThrow(ApiError);
  front.next = [{ status: 502 }];
  expect(await client.post('/auth/nonce')).toMatchObject({ ok: false, status: 502, error: 'Bad Gateway', body: { error: 'Bad Gateway' } });
  const first = await ok(client.get('/config/games'));
  const again = await client.get('/config/games', { headers: { 'If-None-Match': first.headers.get('ETag') ?? '' } });
  expect([again.ok, again.status, again.body]).toEqual([false, 304, null]);
});

test('any JSON value is sent as JSON, other bodies are sent unchanged, and a path value cannot change the path', async () => {
  const client = await signedInClient();
  for (const state of [{ level: 3 }, ['a'], 'text', 7, null]) {
    await ok(client.put('/game/{id}/state', { params: { id: GAME }, body: state }));
    expect((await ok(client.get('/game/{id}/state', { params: { id: GAME } }))).body.state).toEqual(state);
  }
  const admin = connect({ headers: { Authorization: `Bearer ${ADMIN_TOKEN}` } });
  const lines = '{"epoch":1}\n{"wallet":"nobody","amount":"1"}\n';
  const imported = await admin.post('/api/rewards/epoch/import', { body: lines, headers: { 'Content-Type': 'application/x-ndjson' } });
  expect(imported).toMatchObject({ status: 400, error: expect.stringMatching(/line|wallet/) });
  await expect(client.get('/game/{id}/stats', { params: { id: '..' } })).rejects.toThrow('params.id must not be ".."');
  expect((await client.get('/game/{id}/stats', { params: { id: 'a/../b' } })).status).toBe(404);
  expect(front.requests.at(-1)).toBe('GET /game/a%2F..%2Fb/stats');
});

test('repeatable calls are retried when the service is busy or a response is lost, with one effect; other calls are not', async () => {
  const client = await signedInClient();
  const busy = { status: 503, retryAfter: '0' };
  front.next = [busy, { status: 504 }, busy];
  expect((await client.get('/config/games')).status).toBe(200);
  front.next = [busy, busy, busy, busy];
  expect(await client.get('/config/games')).toMatchObject({ status: 503, retryAfter: 0, error: 'Service Unavailable' });

  const { wallet } = (await ok(client.get('/me'))).body;
  const plays = () => countRows(t, 'plays', 'wallet = $1', [wallet]);
  front.next = ['lost', busy];
  const play = await ok(client.post('/game/{id}/play', { params: { id: GAME }, idempotencyKey: 'once' }));
  expect([play.status, await plays()]).toEqual([201, 1]);

  front.requests = [];
  front.next = [busy];
  expect((await client.post('/game/{id}/play', { params: { id: GAME } })).status).toBe(503);
  front.next = [{ status: 503, retryAfter: '3600' }];
  expect(await client.get('/config/games')).toMatchObject({ status: 503, retryAfter: 3_600 });
  front.next = ['lost'];
  await expect(client.post('/game/{id}/play', { params: { id: GAME } })).rejects.toThrow('fetch failed');
  expect([front.requests.length, await plays()]).toEqual([3, 2]);

  front.next = [{ status: 503, retryAfter: '20' }];
  const reason = new Error('enough');
  const stop = new AbortController();
  const waiting = client.get('/config/games', { signal: stop.signal });
  await retryUntilPass(() => expect(front.next).toEqual([]));
  stop.abort(reason);
  await expect(waiting).rejects.toBe(reason);
});

function followNotifications(options: { lastEventId?: string; silenceMs?: number } = {}) {
  const stop = new AbortController();
  const texts: string[] = [];
  const followed = {
    texts,
    ids: [] as string[],
    resets: 0,
    connections: 0,
    reasons: [] as (string | null)[],
    stop: () => stop.abort(),
    ended: Promise.resolve(),
  };
  followed.ended = followEvents(connect(), {
    categories: ['system'],
    signal: stop.signal,
    ...options,
    onEvent: (event: EventOf<'system'>) => void (event.type === 'notification' && texts.push(event.text)),
    onReset: () => void followed.resets++,
    onId: (id) => void followed.ids.push(id),
    onConnection(isOpen, reason) {
      if (isOpen) followed.connections++;
      else followed.reasons.push(reason?.message ?? null);
    },
  });
  return followed;
}

test('events are delivered once and in order, despite broken, silent and rejected connections, and to later processes', async () => {
  const one = followNotifications({ silenceMs: 1_000 });
  await retryUntilPass(() => expect(one.ids.length).toBeGreaterThan(0));
  await notify('a', 'b');
  await retryUntilPass(() => expect(one.texts).toEqual(['a', 'b']));
  front.cut();
  await notify('c');
  await retryUntilPass(() => expect(one.texts).toEqual(['a', 'b', 'c']));
  front.next = [{ status: 503, retryAfter: '0' }, { status: 500 }, { status: 502 }];
  front.stall();
  await notify('d', 'e');
  await retryUntilPass(() => expect(one.texts).toEqual(['a', 'b', 'c', 'd', 'e']));
  expect(one.reasons).toContain('no data for 1000 ms');
  expect(front.next).toEqual([]);
  one.stop();
  await one.ended;
  await notify('f');
  const two = followNotifications({ lastEventId: one.ids.at(-1) ?? '' });
  await retryUntilPass(() => expect(two.texts).toEqual(['f']));
  two.stop();
  await two.ended;
  expect([one.texts, one.resets, two.resets]).toEqual([['a', 'b', 'c', 'd', 'e'], 0, 0]);
});

test('a missed range of events gives a reset, and later events follow', async () => {
  const one = followNotifications({ lastEventId: '000000000000:1-0' });
  await retryUntilPass(() => expect([one.resets, one.ids.length]).toEqual([1, 1]));
  await notify('after');
  await retryUntilPass(() => expect(one.texts).toEqual(['after']));
  one.stop();
  await one.ended;
});

test('followEvents rejects when the service rejects the request and when a handler throws', async () => {
  const handlers = { onEvent: () => undefined, onReset: () => undefined };
  const client = connect();
  const invalid: Client = { ...client, fetch: (_path, init) => client.fetch('/events?categories=none', init) };
  await expect(followEvents(invalid, handlers)).rejects.toThrow(/categories/);
  await expect(followEvents(invalid, handlers)).rejects.toMatchObject({ name: 'ApiError', status: 400 });
  await expect(followEvents(client, { ...handlers, lastEventId: 'unknown', onReset: () => Promise.reject(new Error('mine')) })).rejects.toThrow(
    'mine',
  );
});

test('an event stream is parsed as the standard defines, in pieces of any size', () => {
  const text = '\uFEFF: hello\r\nretry: 5\r\n\r\nid: 1\r\ndata: a\rdata:b\r\revent: x\ndata\nid\n\nid: 9\u0000\ndata: é\n\ndata: cut off\n';
  const bytes = Buffer.from(text);
  const expected = [
    { id: null, data: '', retryMs: 5 },
    { id: '1', data: 'a\nb', retryMs: null },
    { id: '', data: '', retryMs: null },
    { id: null, data: 'é', retryMs: null },
  ];
  for (const size of [1, 2, 3, 5, bytes.length]) {
    const blocks = new BlockReader();
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size));
    expect(pieces.flatMap((piece) => blocks.read(piece))).toEqual(expected);
  }
});
