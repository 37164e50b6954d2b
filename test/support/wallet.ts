import { generateKeyPairSync, sign } from 'node:crypto';
import bs58 from 'bs58';
import type { TestApp } from './app.ts';

/** A wallet: an ed25519 key pair that signs whatever it is given. */
export interface TestWallet {
  /** Base58 of the public key. */
  readonly address: string;
  /** The 32 bytes of the public key. */
  readonly publicKey: Uint8Array;
  /** A 64-byte ed25519 signature. */
  sign(bytes: Uint8Array): Uint8Array;
}

/** Makes a wallet that nobody has seen before. */
export function createWallet(): TestWallet {
  const pair = generateKeyPairSync('ed25519');
  const publicKey = Uint8Array.from(pair.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32));
  return { address: bs58.encode(publicKey), publicKey, sign: (bytes) => Uint8Array.from(sign(null, bytes, pair.privateKey)) };
}

/** What `/auth/nonce` says to sign. */
export interface SignInInput {
  domain: string;
  statement: string;
  uri: string;
  version: string;
  chainId: string;
  nonce: string;
  issuedAt: string;
  expirationTime: string;
}

/** The text that a wallet shows and signs for `solana:signIn`; written apart from the server's, so that tests compare the two. */
export function signInText(input: SignInInput, address: string): string {
  return [
    `${input.domain} wants you to sign in with your Solana account:`,
    address,
    '',
    input.statement,
    '',
    `URI: ${input.uri}`,
    `Version: ${input.version}`,
    `Chain ID: ${input.chainId}`,
    `Nonce: ${input.nonce}`,
    `Issued At: ${input.issuedAt}`,
    `Expiration Time: ${input.expirationTime}`,
  ].join('\n');
}

/** `name=value` of every cookie that a response sets, as a browser would send them back. */
export function cookiesOf(response: Response): string {
  return response.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0])
    .join('; ');
}

/** A request's options, and a body to be sent as JSON. */
export type JsonInit = RequestInit & { json?: unknown };

/** Sends a request to an application; `json` becomes the body, with its content type. The method is POST where there is a body. */
export function send(t: Pick<TestApp, 'url'>, path: string, { json, ...init }: JsonInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (json === undefined) return fetch(`${t.url}${path}`, { ...init, headers });
  headers.set('Content-Type', 'application/json');
  return fetch(`${t.url}${path}`, { method: 'POST', ...init, headers, body: JSON.stringify(json) });
}

/** A wallet with a session. */
export interface SignedIn {
  readonly wallet: string;
  /** The `Cookie` header of the session. */
  readonly cookie: string;
  /** `send` with the session's cookie. */
  fetch(path: string, init?: JsonInit): Promise<Response>;
}

/** Asks for a nonce. */
export async function askNonce(t: Pick<TestApp, 'url'>, init: JsonInit = {}): Promise<SignInInput> {
  const response = await send(t, '/auth/nonce', { method: 'POST', ...init });
  if (response.status !== 200) throw new Error(`/auth/nonce answered ${response.status}: ${await response.text()}`);
  const { signInInput } = (await response.json()) as { signInInput: SignInInput };
  return signInInput;
}

/** Signs a wallet in through the real endpoints. */
export async function signIn(t: Pick<TestApp, 'url'>, wallet: TestWallet = createWallet(), init: JsonInit = {}): Promise<SignedIn> {
  const message = signInText(await askNonce(t), wallet.address);
  const signature = bs58.encode(wallet.sign(Buffer.from(message)));
  const response = await send(t, '/auth/verify', { ...init, json: { publicKey: wallet.address, message, signature } });
  if (response.status !== 200) throw new Error(`/auth/verify answered ${response.status}: ${await response.text()}`);
  const cookie = cookiesOf(response);
  return {
    wallet: wallet.address,
    cookie,
    fetch(path, request = {}) {
      const headers = new Headers(request.headers);
      headers.set('Cookie', cookie);
      return send(t, path, { ...request, headers });
    },
  };
}
