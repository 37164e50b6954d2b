import { afterAll, beforeAll, expect, test } from '@jest/globals';
import bs58 from 'bs58';
import { startApi } from '../support/api.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { count, verifyText } from '../support/sign-in.ts';
import { askNonce, createWallet, type SignInInput, send, signIn, signInText, type TestWallet } from '../support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false, env: { ALLOWED_ORIGINS: 'https://friend.test:8443' } });
});
afterAll(() => t.close());

const L = 2n ** 252n + 27742317777372353535851937790883648493n;
const REFUSED = { error: 'the signed message is not accepted, sign in again with a new nonce' };

/** Signs what `change` makes of the right text, and expects 401. */
async function expectRefused(change: (text: string, input: SignInInput, wallet: TestWallet) => string): Promise<void> {
  const wallet = createWallet();
  const input = await askNonce(t);
  const response = await verifyText(t, wallet, change(signInText(input, wallet.address), input, wallet));
  expect({ status: response.status, cookies: response.headers.getSetCookie() }).toEqual({ status: 401, cookies: [] });
  expect(await response.json()).toEqual(REFUSED);
}

test('a nonce comes with all that a wallet needs, decided by the service', async () => {
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

test('an allowed Origin gets a text for its own domain, and its port', async () => {
  const input = await askNonce(t, { headers: { Origin: 'https://friend.test:8443' } });
  expect(input).toMatchObject({ domain: 'friend.test:8443', uri: 'https://friend.test:8443' });
  expect((await verifyText(t, createWallet(), input)).status).toBe(200);
});

test.each(['https://evil.test', 'null'])('a page of origin %s gets no nonce and signs nobody in', async (origin) => {
  for (const path of ['/auth/nonce', '/auth/verify', '/auth/logout']) {
    const response = await send(t, path, { json: {}, headers: { Origin: origin } });
    expect(response.status).toBe(403);
  }
});

test('a body cannot decide what the text says', async () => {
  expect((await send(t, '/auth/nonce', { json: {} })).status).toBe(200);
  const response = await send(t, '/auth/nonce', { json: { domain: 'evil.test' } });
  expect(response.status).toBe(400);
  expect(await response.json()).toEqual({ error: 'domain is not a known field' });
});

test('a wallet signs in with the text, gets a cookie, and is told who it is', async () => {
  const wallet = createWallet();
  const response = await verifyText(t, wallet, await askNonce(t));
  expect(response.status).toBe(200);
  const body = (await response.json()) as { wallet: string; expiresAt: string };
  expect(body).toEqual({ wallet: wallet.address, expiresAt: expect.any(String) });
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

test('the text may come as base64, and the signature too', async () => {
  const wallet = createWallet();
  const text = signInText(await askNonce(t), wallet.address);
  const response = await send(t, '/auth/verify', {
    json: {
      publicKey: wallet.address,
      message: Buffer.from(text).toString('base64'),
      signature: Buffer.from(wallet.sign(Buffer.from(text))).toString('base64'),
    },
  });
  expect(response.status).toBe(200);
});

test('signing in makes the wallet’s row once', async () => {
  const wallet = createWallet();
  await signIn(t, wallet);
  await signIn(t, wallet);
  expect(await count(t, 'players', 'wallet = $1', [wallet.address])).toBe(1);
});

test('a stranger’s key cannot sign a text that names its victim', async () => {
  const victim = createWallet();
  const stranger = createWallet();
  const input = await askNonce(t);
  for (const publicKey of [stranger.address, victim.address]) {
    const response = await verifyText(t, stranger, signInText(input, victim.address), publicKey);
    expect(response.status).toBe(401);
    expect(await response.json()).toEqual(REFUSED);
  }
});

test('a key cannot use a text that names another wallet', () => expectRefused((_text, input) => signInText(input, createWallet().address)));

test('an expired nonce is refused', async () => {
  const wallet = createWallet();
  const input = await askNonce(t);
  await t.clock.set(new Date(t.clock.now().getTime() + 300_001));
  expect((await verifyText(t, wallet, input)).status).toBe(401);
  const fresh = await askNonce(t);
  await t.clock.set(new Date(t.clock.now().getTime() + 290_000));
  expect((await verifyText(t, wallet, fresh)).status).toBe(200);
});

const CHANGES: readonly (readonly [string, Partial<Record<keyof SignInInput, string>>])[] = [
  ['an expired message', { issuedAt: '2020-01-01T00:00:00.000Z', expirationTime: '2020-01-01T00:05:00.000Z' }],
  ['a message that expires later than the nonce', { expirationTime: '2099-01-01T00:00:00.000Z' }],
  ['another domain', { domain: 'evil.test' }],
  ['an allowed domain that did not ask', { domain: 'friend.test:8443' }],
  ['another URI', { uri: 'http://coinop.test/elsewhere' }],
  ['another chain', { chainId: 'solana:devnet' }],
  ['another version', { version: '2' }],
  ['another statement', { statement: 'Sign everything away.' }],
  ['an unknown nonce', { nonce: 'AAAAAAAAAAAAAAAAAAAAAAAA' }],
];

test.each(CHANGES)('%s is refused', (_what, change) => expectRefused((_text, input, wallet) => signInText({ ...input, ...change }, wallet.address)));

test.each<[string, (text: string, input: SignInInput) => string]>([
  ['added resources', (text) => `${text}\nResources:\n- https://evil.test`],
  ['a trailing newline', (text) => `${text}\n`],
  ['a leading space', (text) => ` ${text}`],
  ['other line ends', (text) => text.replaceAll('\n', '\r\n')],
  ['a byte order mark', (text) => `\ufeff${text}`],
  ['a second nonce line', (text, input) => text.replace('\nNonce: ', `\nNonce: ${input.nonce}\nNonce: `)],
  ['a nonce in the statement', (text, input) => text.replace('Sign in to Coinop.', `Nonce: ${input.nonce}`).replace(/\nNonce: \w+\nIssued/, '\nIssued')],
  ['a nonce in the request id', (text) => text.replace('\nNonce: ', '\nRequest ID: ')],
  ['no nonce at all', () => 'hello'],
])('a text with %s is refused', (_what, change) => expectRefused(change));

test('a signature with the group’s order added is refused', async () => {
  const wallet = createWallet();
  const text = signInText(await askNonce(t), wallet.address);
  const signature = wallet.sign(Buffer.from(text));
  const s = BigInt(`0x${Buffer.from(signature.slice(32)).reverse().toString('hex')}`) + L;
  const forged = Buffer.concat([signature.slice(0, 32), Buffer.from(s.toString(16).padStart(64, '0'), 'hex').reverse()]);
  const tell = (bytes: Uint8Array) => send(t, '/auth/verify', { json: { publicKey: wallet.address, message: text, signature: bs58.encode(bytes) } });
  expect((await tell(forged)).status).toBe(401);
  expect((await tell(signature)).status).toBe(200);
});

test.each([
  ['the all-zero key', '00'.repeat(32)],
  ['the identity', `01${'00'.repeat(31)}`],
  ['the point of order 2', `ec${'ff'.repeat(30)}7f`],
  ['a point of order 4', `${'00'.repeat(31)}80`],
  ['a point of order 8', '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05'],
  ['another point of order 8', 'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a'],
  ['a second encoding of the identity', `ee${'ff'.repeat(30)}7f`],
])('%s signs nobody in', async (_what, hex) => {
  const key = Buffer.from(hex, 'hex');
  const message = signInText(await askNonce(t), bs58.encode(key));
  for (const r of [key, Buffer.from(`01${'00'.repeat(31)}`, 'hex'), Buffer.alloc(32)]) {
    const signature = bs58.encode(Buffer.concat([r, Buffer.alloc(32)]));
    const response = await send(t, '/auth/verify', { json: { publicKey: bs58.encode(key), message, signature } });
    expect(response.status).toBe(401);
  }
});

test('a nonce works once', async () => {
  const wallet = createWallet();
  const input = await askNonce(t);
  expect((await verifyText(t, wallet, input)).status).toBe(200);
  expect((await verifyText(t, wallet, input)).status).toBe(401);
  expect((await verifyText(t, createWallet(), input)).status).toBe(401);
});

test('a proof that fails does not use its nonce up', async () => {
  const wallet = createWallet();
  const input = await askNonce(t);
  expect((await verifyText(t, wallet, `${signInText(input, wallet.address)} `)).status).toBe(401);
  expect((await verifyText(t, wallet, input)).status).toBe(200);
});

test('of twenty sign-ins with one nonce at once, one wins', async () => {
  const wallet = createWallet();
  const input = await askNonce(t);
  const responses = await Promise.all(Array.from({ length: 20 }, () => verifyText(t, wallet, input)));
  expect(responses.map((r) => r.status).sort()).toEqual([200, ...Array(19).fill(401)]);
  expect(await count(t, 'sessions', 'wallet = $1', [wallet.address])).toBe(1);
});

test('a banned wallet cannot sign in', async () => {
  const wallet = createWallet();
  await signIn(t, wallet);
  await t.app.tx((tx) => tx.em.execute('update players set banned_at = app_now() where wallet = ?', [wallet.address]));
  const response = await verifyText(t, wallet, await askNonce(t));
  expect(response.status).toBe(403);
  expect(await response.json()).toEqual({ error: 'publicKey must not be a banned wallet' });
});

test.each<[string, Record<string, unknown>]>([
  ['publicKey', { publicKey: undefined }],
  ['publicKey', { publicKey: 'nonsense' }],
  ['publicKey', { publicKey: 7 }],
  ['publicKey', { publicKey: bs58.encode(new Uint8Array(33).fill(7)) }],
  ['message', { message: undefined }],
  ['message', { message: '' }],
  ['message', { message: 'x'.repeat(4097) }],
  ['message', { message: Buffer.of(0xff, 0xfe, 0xfd).toString('base64') }],
  ['signature', { signature: undefined }],
  ['signature', { signature: 'nonsense' }],
  ['signature', { signature: bs58.encode(new Uint8Array(63).fill(7)) }],
  ['signature', { signature: Buffer.alloc(65).toString('base64') }],
  ['transaction', { transaction: 'AAAA' }],
  ['transaction', { message: undefined, signature: undefined, transaction: '%' }],
  ['transaction', { message: undefined, signature: undefined, transaction: '' }],
  ['transaction', { message: undefined, signature: undefined, transaction: Buffer.alloc(1233).toString('base64') }],
  ['extra', { extra: 1 }],
])('a malformed %s is 400 and named', async (field, change) => {
  const wallet = createWallet();
  const json = { publicKey: wallet.address, message: 'hello', signature: bs58.encode(wallet.sign(Buffer.from('hello'))), ...change };
  const response = await send(t, '/auth/verify', { json });
  expect(response.status).toBe(400);
  expect(await response.json()).toEqual({ error: expect.stringMatching(new RegExp(`^${field} (must|is) `)) });
});

test('a body that is not JSON is 415, and one that is none is 400', async () => {
  const post = (headers: Record<string, string>, body: string) => fetch(`${t.url}/auth/verify`, { method: 'POST', headers, body });
  expect((await post({ 'Content-Type': 'text/plain' }, '{}')).status).toBe(415);
  expect((await post({ 'Content-Type': 'application/json' }, '{')).status).toBe(400);
  expect((await post({}, '')).status).toBe(400);
});

test('without a session there is nobody to be and nothing to sign out of', async () => {
  expect((await send(t, '/me')).status).toBe(401);
  expect((await send(t, '/auth/logout', { method: 'POST' })).status).toBe(401);
});

test('a record that is down is 503', async () => {
  const broken = await startApi({ ...t.env, DATABASE_URL: 'postgresql://127.0.0.1:1/none' });
  try {
    expect((await send(broken, '/auth/nonce', { method: 'POST' })).status).toBe(503);
    expect((await verifyText(broken, createWallet(), await askNonce(t))).status).toBe(503);
  } finally {
    await broken.close();
  }
});
