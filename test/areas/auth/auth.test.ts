import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import bs58 from 'bs58';
import { startApi } from '#test/support/api.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { countRows, verifyText } from '#test/support/sign-in.ts';
import { cookiesOf, createWallet, requestNonce, type SignInInput, send, signIn, signInText } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false, env: { ALLOWED_ORIGINS: 'https://friend.test:8443' } });
});
afterAll(() => t.close());

test('/auth/nonce returns the complete sign-in input, decided by the service', async () => {
  const response = await send(t, '/auth/nonce', { method: 'POST' });
  expect(response.status).toBe(200);
  expect(response.headers.get('Cache-Control')).toBe('no-store');
  const body = (await response.json()) as { nonce: string; signInInput: SignInInput; expiresAt: string };
  expect(body).toEqual({
    nonce: expect.stringMatching(/^[A-Za-z0-9]{24}$/),
    expiresAt: body.signInInput.expirationTime,
    signInInput: {
      domain: 'coinop.test',
      statement: 'Sign in to Coinop.',
      uri: 'http://coinop.test',
      version: '1',
      chainId: 'solana:mainnet',
      nonce: body.nonce,
      issuedAt: expect.any(String),
      expirationTime: expect.any(String),
    },
  });
  expect(Date.parse(body.expiresAt) - Date.parse(body.signInInput.issuedAt)).toBe(300_000);
});

test('an allowed Origin gets a text with its domain and port', async () => {
  const input = await requestNonce(t, { headers: { Origin: 'https://friend.test:8443' } });
  expect(input).toMatchObject({ domain: 'friend.test:8443', uri: 'https://friend.test:8443' });
  expect((await verifyText(t, createWallet(), input)).status).toBe(200);
});

test.each(['https://evil.test', 'null'])('a page of the origin %s gets no nonce and cannot sign in', async (origin) => {
  for (const path of ['/auth/nonce', '/auth/verify', '/auth/logout']) {
    const response = await send(t, path, { json: {}, headers: { Origin: origin } });
    expect(response.status).toBe(403);
  }
});

test('the request body does not change the sign-in text', async () => {
  expect((await send(t, '/auth/nonce', { json: {} })).status).toBe(200);
  const response = await send(t, '/auth/nonce', { json: { domain: 'evil.test' } });
  expect(response.status).toBe(400);
  expect(await response.json()).toEqual({ error: 'domain is not a known field' });
});

test('a wallet signs in with the text and gets a session cookie that /me accepts', async () => {
  const wallet = createWallet();
  const response = await verifyText(t, wallet, await requestNonce(t));
  expect(response.status).toBe(200);
  const body = (await response.json()) as { wallet: string; expiresAt: string };
  expect(body).toEqual({ wallet: wallet.address, expiresAt: expect.any(String), banned: false });
  const me = await signIn(t, wallet);
  const answer = await me.fetch('/me');
  expect(answer.status).toBe(200);
  expect(await answer.json()).toEqual({
    wallet: wallet.address,
    eligible: true,
    tokenBalance: null,
    session: { createdAt: expect.any(String), expiresAt: expect.any(String), lastExtendedAt: expect.any(String) },
  });
});

test('text and signature may be base64', async () => {
  const wallet = createWallet();
  const text = signInText(await requestNonce(t), wallet.address);
  const response = await send(t, '/auth/verify', {
    json: {
      publicKey: wallet.address,
      message: Buffer.from(text).toString('base64'),
      signature: Buffer.from(wallet.sign(Buffer.from(text))).toString('base64'),
    },
  });
  expect(response.status).toBe(200);
});

test('repeated sign-ins create one player row', async () => {
  const wallet = createWallet();
  await signIn(t, wallet);
  await signIn(t, wallet);
  expect(await countRows(t, 'players', 'wallet = $1', [wallet.address])).toBe(1);
});

test('a nonce works once', async () => {
  const wallet = createWallet();
  const input = await requestNonce(t);
  expect((await verifyText(t, wallet, input)).status).toBe(200);
  expect((await verifyText(t, wallet, input)).status).toBe(401);
  expect((await verifyText(t, createWallet(), input)).status).toBe(401);
});

test('a failed proof does not use its nonce', async () => {
  const wallet = createWallet();
  const input = await requestNonce(t);
  expect((await verifyText(t, wallet, `${signInText(input, wallet.address)} `)).status).toBe(401);
  expect((await verifyText(t, wallet, input)).status).toBe(200);
});

test('of twenty concurrent sign-ins with one nonce, one succeeds', async () => {
  const wallet = createWallet();
  const input = await requestNonce(t);
  const responses = await Promise.all(Array.from({ length: 20 }, () => verifyText(t, wallet, input)));
  expect(responses.map((r) => r.status).sort()).toEqual([200, ...Array(19).fill(401)]);
  expect(await countRows(t, 'sessions', 'wallet = $1', [wallet.address])).toBe(1);
});

test('a banned wallet can sign in to read its own data, and every other route refuses its session', async () => {
  const wallet = createWallet();
  await signIn(t, wallet);
  await t.app.tx((tx) => tx.em.execute('update players set banned_at = app_now() where wallet = ?', [wallet.address]));
  const response = await verifyText(t, wallet, await requestNonce(t));
  expect([response.status, await response.json()]).toMatchObject([200, { banned: true }]);
  const headers = { Cookie: cookiesOf(response) };
  for (const path of ['/me', '/me/sessions', '/me/scores', '/me/appeals', '/api/profile']) {
    expect([path, (await send(t, path, { headers })).status]).toEqual([path, 200]);
  }
  const refused = await send(t, '/chat/message', { headers, json: { text: 'hello' } });
  const error = 'this wallet is banned: it may only read its own data, appeal, and delete its account';
  expect([refused.status, await refused.json()]).toEqual([403, { error }]);
  expect((await send(t, '/auth/logout', { headers, json: {} })).status).toBe(200);
  expect((await send(t, '/me', { headers })).status).toBe(401);
});

test.each<[string, string, Record<string, unknown>]>([
  ['publicKey', 'missing', { publicKey: undefined }],
  ['publicKey', 'not base58', { publicKey: 'nonsense' }],
  ['publicKey', 'a number', { publicKey: 7 }],
  ['publicKey', 'of 33 bytes', { publicKey: bs58.encode(new Uint8Array(33).fill(7)) }],
  ['message', 'missing', { message: undefined }],
  ['message', 'empty', { message: '' }],
  ['message', 'too long', { message: 'x'.repeat(4097) }],
  ['message', 'the base64 of invalid UTF-8', { message: Buffer.of(0xff, 0xfe, 0xfd).toString('base64') }],
  ['signature', 'missing', { signature: undefined }],
  ['signature', 'neither base58 nor base64', { signature: 'non-sense' }],
  ['signature', 'of 63 bytes', { signature: bs58.encode(new Uint8Array(63).fill(7)) }],
  ['signature', 'of 65 bytes', { signature: Buffer.alloc(65).toString('base64') }],
  ['transaction', 'combined with a message', { transaction: 'AAAA' }],
  ['transaction', 'not base64', { message: undefined, signature: undefined, transaction: '%' }],
  ['transaction', 'empty', { message: undefined, signature: undefined, transaction: '' }],
  ['transaction', 'too large', { message: undefined, signature: undefined, transaction: Buffer.alloc(1233).toString('base64') }],
  ['extra', 'unknown', { extra: 1 }],
])('a field %s that is %s gives 400 with the name of the field', async (field, _fault, change) => {
  const wallet = createWallet();
  const json = { publicKey: wallet.address, message: 'hello', signature: bs58.encode(wallet.sign(Buffer.from('hello'))), ...change };
  const response = await send(t, '/auth/verify', { json });
  expect(response.status).toBe(400);
  expect(await response.json()).toEqual({ error: expect.stringMatching(new RegExp(`^${field} (must|is) `)) });
});

test('another content type gives 415, and invalid JSON gives 400', async () => {
  const post = (headers: Record<string, string>, body: string) => fetch(`${t.url}/auth/verify`, { method: 'POST', headers, body });
  expect((await post({ 'Content-Type': 'text/plain' }, '{}')).status).toBe(415);
  expect((await post({ 'Content-Type': 'application/json' }, '{')).status).toBe(400);
  expect((await post({}, '')).status).toBe(400);
});

test('/me and /auth/logout require a session', async () => {
  expect((await send(t, '/me')).status).toBe(401);
  expect((await send(t, '/auth/logout', { method: 'POST' })).status).toBe(401);
});

test('a database that closes connections gives 503', async () => {
  const silent = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as AddressInfo;
  const broken = await startApi({ ...t.env, DATABASE_URL: `postgresql://127.0.0.1:${port}/none` });
  try {
    expect((await send(broken, '/auth/nonce', { method: 'POST' })).status).toBe(503);
    expect((await verifyText(broken, createWallet(), await requestNonce(t))).status).toBe(503);
  } finally {
    await broken.close();
    silent.close();
  }
});
