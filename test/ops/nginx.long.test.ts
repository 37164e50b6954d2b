import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { connect as connectHttp2, constants } from 'node:http2';
import { Agent, type RequestOptions, request } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import bs58 from 'bs58';
import { WebSocket } from 'ws';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { registerGame, TEST_GAME } from '#test/support/areas/arcade.ts';
import { form, GAME, mp4 } from '#test/support/areas/clips.ts';
import { startProxy, type TestProxy, unusedPort } from '#test/support/http/nginx.ts';
import { createWallet, type SignInInput, signInText } from '#test/support/wallet.ts';

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}
/** Addresses of this machine from which a test connects. Each address has its own limits. */
const [PLAYER, HOSTILE, OTHER] = ['127.0.0.1', '127.0.0.3', '127.0.0.2'];

let t: TestApp;
let proxy: TestProxy;
beforeAll(async () => {
  const publicUrl = 'https://arcade.test';
  t = await startTestApp({ env: { PUBLIC_URL: publicUrl, TRUST_PROXY: '1' } });
  await registerGame(t.url, ADMIN_TOKEN, GAME);
  await registerGame(t.url, ADMIN_TOKEN, 'beating', { ...TEST_GAME, verification: 'heartbeat' });
  proxy = await startProxy(Number(new URL(t.url).port));
}, 180_000);
afterAll(async () => {
  await proxy?.stop();
  await t?.close();
});

const optionsFrom = (from: string, path: string, options: RequestOptions = {}): RequestOptions => ({
  host: '127.0.0.1',
  port: proxy.port,
  localAddress: from,
  rejectUnauthorized: false,
  path,
  ...options,
  headers: { Host: 'arcade.test', ...options.headers },
});

/** Sends a request through the proxy. */
function ask(from: string, path: string, options: RequestOptions = {}, body?: string | Buffer): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(optionsFrom(from, path, options), (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text: Buffer.concat(chunks).toString('utf8') }),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
const JSON_BODY = { 'Content-Type': 'application/json' };

/** Signs a new wallet in through the proxy. @returns the headers of its requests */
async function signInThrough(from = PLAYER): Promise<Record<string, string>> {
  const key = createWallet();
  const nonce = await ask(from, '/auth/nonce', { method: 'POST' });
  const { signInInput } = JSON.parse(nonce.text) as { signInInput: SignInInput };
  const message = signInText(signInInput, key.address);
  const proof = { publicKey: key.address, message, signature: bs58.encode(key.sign(Buffer.from(message))) };
  const verified = await ask(from, '/auth/verify', { method: 'POST', headers: JSON_BODY }, JSON.stringify(proof));
  expect([verified.status, verified.headers['set-cookie']?.[0]]).toEqual([200, expect.stringMatching(/^__Host-coinop\.sid=.*; secure/)]);
  return { Cookie: (verified.headers['set-cookie'] ?? []).map((cookie) => cookie.split(';')[0]).join('; '), Origin: 'https://arcade.test' };
}

/** Opens an event stream, and collects the text that arrives. */
function openStream(from: string, headers: Record<string, string> = {}) {
  const received = { status: 0, text: '', contentType: '' };
  const sent = request(optionsFrom(from, '/events', { headers, agent: false }), (response) => {
    received.status = response.statusCode ?? 0;
    received.contentType = response.headers['content-type'] ?? '';
    response
      .on('error', () => undefined)
      .on('data', (chunk: Buffer) => {
        received.text += chunk.toString('utf8');
      });
  });
  sent.on('error', () => undefined).end();
  return { received, close: () => sent.destroy() };
}

async function until(isTrue: () => boolean): Promise<void> {
  for (let i = 0; i < 200 && !isTrue(); i++) await sleep(25);
  expect(isTrue()).toBe(true);
}

test('a normal session works through the proxy: sign-in, score, WebSocket and HTTP/2, with HSTS once on each response', async () => {
  const headers = await signInThrough();
  const me = await ask(PLAYER, '/me', { headers });
  expect([me.status, me.headers['strict-transport-security']]).toEqual([200, expect.stringMatching(/^max-age=31536000; includeSubDomains$/)]);
  const play = await ask(PLAYER, '/game/beating/play', { method: 'POST', headers });
  const { heartbeatUrl } = JSON.parse(play.text) as { heartbeatUrl: string };
  const { pathname, search } = new URL(heartbeatUrl);
  const socket = new WebSocket(`wss://127.0.0.1:${proxy.port}${pathname}${search}`, {
    headers: { ...headers, Host: 'arcade.test' },
    rejectUnauthorized: false,
  });
  await once(socket, 'open');
  socket.send('{"type":"heartbeat"}');
  const [message] = (await once(socket, 'message')) as [Buffer];
  expect(JSON.parse(message.toString('utf8'))).toMatchObject({ type: 'heartbeat', beats: 1 });
  socket.close();

  const session = connectHttp2(`https://127.0.0.1:${proxy.port}`, { rejectUnauthorized: false });
  const stream = session.request({ [constants.HTTP2_HEADER_PATH]: '/config/games', [constants.HTTP2_HEADER_AUTHORITY]: 'arcade.test' });
  const [answer] = (await once(stream, 'response')) as [Record<string, unknown>];
  expect(answer[constants.HTTP2_HEADER_STATUS]).toBe(200);
  session.destroy();

  const redirect = await fetch(`http://127.0.0.1:${proxy.httpPort}/docs?a=b`, { redirect: 'manual' });
  expect([redirect.status, redirect.headers.get('Location')]).toEqual([308, 'https://127.0.0.1/docs?a=b']);
});

test('events arrive at once, because the proxy does not buffer the stream', async () => {
  const headers = await signInThrough();
  const stream = openStream(PLAYER, headers);
  await until(() => stream.received.status === 200);
  expect(stream.received.contentType).toMatch(/^text\/event-stream/);
  const text = `unbuffered ${Math.random()}`;
  const sent = await ask(PLAYER, '/chat/message', { method: 'POST', headers: { ...headers, ...JSON_BODY } }, JSON.stringify({ text }));
  expect(sent.status).toBe(201);
  await until(() => stream.received.text.includes(text));
  stream.close();
});

test('a clip is uploaded through the proxy, and a body above the limits gets 413 as JSON', async () => {
  const headers = await signInThrough();
  const upload = new Response(
    form([
      ['gameId', GAME],
      ['file', mp4(2_000_000)],
    ]),
  );
  const contentType = upload.headers.get('Content-Type') ?? '';
  const body = Buffer.from(await upload.arrayBuffer());
  const uploaded = await ask(PLAYER, '/clip/upload', { method: 'POST', headers: { ...headers, 'Content-Type': contentType } }, body);
  expect([uploaded.status, JSON.parse(uploaded.text)]).toMatchObject([201, { url: expect.stringContaining('https://arcade.test/clips/') }]);
  const announce = (path: string, bytes: number) =>
    ask(PLAYER, path, { method: 'POST', headers: { ...headers, ...JSON_BODY, 'Content-Length': String(bytes), Expect: '100-continue' } });
  for (const [path, bytes] of [
    ['/arcade/score', 2_000_000],
    ['/clip/upload', 60 * 1_048_576],
  ] as const) {
    const refused = await announce(path, bytes);
    expect([refused.status, refused.headers['content-type'], refused.text]).toEqual([413, 'application/json', '{"error":"the body is too large"}']);
  }
});

test('an anonymous caller with 300 connections and 2,000 requests a second is bounded, and another address is served meanwhile', async () => {
  const headers = await signInThrough(OTHER);
  const streams = Array.from({ length: 300 }, () => openStream(HOSTILE));
  await until(() => streams.every(({ received }) => received.status !== 0));
  expect(streams.filter(({ received }) => received.status === 200)).toHaveLength(50);
  expect(streams.filter(({ received }) => received.status === 429)).toHaveLength(250);

  const agent = new Agent({ keepAlive: true, maxSockets: 40, rejectUnauthorized: false });
  const began = performance.now();
  const flood = Promise.all(Array.from({ length: 2_000 }, () => ask(HOSTILE, '/config/games', { agent }).catch(() => null)));
  const served: number[] = [];
  for (let i = 0; i < 20; i++) served.push((await ask(OTHER, '/me', { headers })).status);
  const answers = (await flood).filter((answer) => answer !== null);
  const seconds = (performance.now() - began) / 1_000;
  agent.destroy();
  expect(new Set(served)).toEqual(new Set([200]));
  const accepted = answers.filter(({ status }) => status === 200).length;
  expect(accepted).toBeLessThanOrEqual(300 + 100 * seconds + 10);
  const [refused] = answers.filter(({ status }) => status === 429);
  expect([refused?.headers['content-type'], refused?.headers['retry-after'], JSON.parse(refused?.text ?? 'null')]).toEqual([
    'application/json',
    '1',
    { error: 'this address sends too many requests or has too many connections, try again later' },
  ]);
  expect(refused?.headers['strict-transport-security']).toBe('max-age=31536000; includeSubDomains');
  for (const stream of streams) stream.close();

  const nonces = await Promise.all(Array.from({ length: 100 }, () => ask('127.0.0.4', '/auth/nonce', { method: 'POST' })));
  expect(nonces.filter(({ status }) => status === 200).length).toBeLessThan(40);
  // A refusal arrives slowly, so that a caller that ignores it cannot send the next request at once.
  const asked = performance.now();
  const late = await Promise.all(Array.from({ length: 20 }, () => ask('127.0.0.4', '/auth/nonce', { method: 'POST' })));
  expect(late.filter(({ status }) => status === 429).length).toBeGreaterThan(0);
  expect(performance.now() - asked).toBeGreaterThan(900);
});

test('the proxy replaces forwarded headers of clients, and answers 503 with Retry-After while no API process runs', async () => {
  const forged = { 'X-Forwarded-Proto': 'http', 'X-Forwarded-Host': 'evil.test', 'X-Forwarded-For': '1.2.3.4' };
  expect((await ask(OTHER, '/auth/nonce', { method: 'POST', headers: forged })).text).not.toContain('evil.test');
  const dead = await startProxy(await unusedPort());
  try {
    const answer = await ask(OTHER, '/config/games', { port: dead.port });
    expect([answer.status, answer.headers['retry-after'], JSON.parse(answer.text)]).toEqual([
      503,
      '1',
      { error: 'the service is not available, try again' },
    ]);
  } finally {
    await dead.stop();
  }
});
