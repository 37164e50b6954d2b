import { afterAll, beforeAll, expect, test } from '@jest/globals';
import bs58 from 'bs58';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { verifyText } from '#test/support/sign-in.ts';
import { createWallet, requestNonce, type SignInInput, send, signInText, type TestWallet } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false, env: { ALLOWED_ORIGINS: 'https://friend.test:8443' } });
});
afterAll(() => t.close());

const L = 2n ** 252n + 27742317777372353535851937790883648493n;
const REFUSED = { error: 'the signed message is not accepted, sign in again with a new nonce' };

/** Changes the correct text with `change`, signs it, and expects 401. */
async function expectRefused(change: (text: string, input: SignInInput, wallet: TestWallet) => string): Promise<void> {
  const wallet = createWallet();
  const input = await requestNonce(t);
  const response = await verifyText(t, wallet, change(signInText(input, wallet.address), input, wallet));
  expect({ status: response.status, cookies: response.headers.getSetCookie() }).toEqual({ status: 401, cookies: [] });
  expect(await response.json()).toEqual(REFUSED);
}

test('a signature of another key is refused for a text that names the victim', async () => {
  const victim = createWallet();
  const stranger = createWallet();
  const input = await requestNonce(t);
  for (const publicKey of [stranger.address, victim.address]) {
    const response = await verifyText(t, stranger, signInText(input, victim.address), publicKey);
    expect(response.status).toBe(401);
    expect(await response.json()).toEqual(REFUSED);
  }
});

test('a signed text that names another wallet is refused', () => expectRefused((_text, input) => signInText(input, createWallet().address)));

test('an expired nonce is refused', async () => {
  const wallet = createWallet();
  const input = await requestNonce(t);
  await t.clock.set(new Date(t.clock.now().getTime() + 300_001));
  expect((await verifyText(t, wallet, input)).status).toBe(401);
  const fresh = await requestNonce(t);
  await t.clock.set(new Date(t.clock.now().getTime() + 290_000));
  expect((await verifyText(t, wallet, fresh)).status).toBe(200);
});

const CHANGES: readonly (readonly [string, Partial<Record<keyof SignInInput, string>>])[] = [
  ['an expired message', { issuedAt: '2020-01-01T00:00:00.000Z', expirationTime: '2020-01-01T00:05:00.000Z' }],
  ['a message that expires later than the nonce', { expirationTime: '2099-01-01T00:00:00.000Z' }],
  ['another domain', { domain: 'evil.test' }],
  ['an allowed domain that did not request the nonce', { domain: 'friend.test:8443' }],
  ['another URI', { uri: 'http://coinop.test/elsewhere' }],
  ['another chain', { chainId: 'solana:devnet' }],
  ['another version', { version: '2' }],
  ['another statement', { statement: 'Sign everything away.' }],
  ['an unknown nonce', { nonce: 'AAAAAAAAAAAAAAAAAAAAAAAA' }],
];

test.each(CHANGES)('a text with a changed field is refused: %s', (_field, change) =>
  expectRefused((_text, input, wallet) => signInText({ ...input, ...change }, wallet.address)),
);

test.each<[string, (text: string, input: SignInInput) => string]>([
  ['added resources', (text) => `${text}\nResources:\n- https://evil.test`],
  ['a trailing newline', (text) => `${text}\n`],
  ['a leading space', (text) => ` ${text}`],
  ['other line ends', (text) => text.replaceAll('\n', '\r\n')],
  ['a byte order mark', (text) => `\ufeff${text}`],
  ['a second nonce line', (text, input) => text.replace('\nNonce: ', `\nNonce: ${input.nonce}\nNonce: `)],
  [
    'a nonce in the statement',
    (text, input) => text.replace('Sign in to Coinop.', `Nonce: ${input.nonce}`).replace(/\nNonce: \w+\nIssued/, '\nIssued'),
  ],
  ['a nonce in the request id', (text) => text.replace('\nNonce: ', '\nRequest ID: ')],
  ['no nonce', () => 'hello'],
])('a text with %s is refused', (_fault, change) => expectRefused(change));

test('a malleable signature (s plus the group order) is refused', async () => {
  const wallet = createWallet();
  const text = signInText(await requestNonce(t), wallet.address);
  const signature = wallet.sign(Buffer.from(text));
  const s = BigInt(`0x${Buffer.from(signature.slice(32)).reverse().toString('hex')}`) + L;
  const forged = Buffer.concat([signature.slice(0, 32), Buffer.from(s.toString(16).padStart(64, '0'), 'hex').reverse()]);
  const sendProof = (bytes: Uint8Array) =>
    send(t, '/auth/verify', { json: { publicKey: wallet.address, message: text, signature: bs58.encode(bytes) } });
  expect((await sendProof(forged)).status).toBe(401);
  expect((await sendProof(signature)).status).toBe(200);
});

test.each([
  ['the all-zero key', '00'.repeat(32)],
  ['the identity', `01${'00'.repeat(31)}`],
  ['the point of order 2', `ec${'ff'.repeat(30)}7f`],
  ['a point of order 4', `${'00'.repeat(31)}80`],
  ['a point of order 8', '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05'],
  ['another point of order 8', 'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a'],
  ['a second encoding of the identity', `ee${'ff'.repeat(30)}7f`],
])('a public key that is %s cannot sign in', async (_point, hex) => {
  const key = Buffer.from(hex, 'hex');
  const message = signInText(await requestNonce(t), bs58.encode(key));
  for (const r of [key, Buffer.from(`01${'00'.repeat(31)}`, 'hex'), Buffer.alloc(32)]) {
    const signature = bs58.encode(Buffer.concat([r, Buffer.alloc(32)]));
    const response = await send(t, '/auth/verify', { json: { publicKey: bs58.encode(key), message, signature } });
    expect(response.status).toBe(401);
  }
});
