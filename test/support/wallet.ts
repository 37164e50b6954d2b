import { generateKeyPairSync, sign } from 'node:crypto';
import bs58 from 'bs58';
import type { TestApp } from './app.ts';

/** An ed25519 key pair that signs any bytes. */
export interface TestWallet {
  /** Base58 of the public key. */
  readonly address: string;
  /** The 32 bytes of the public key. */
  readonly publicKey: Uint8Array;
  /** Returns a 64-byte ed25519 signature. */
  sign(bytes: Uint8Array): Uint8Array;
}

/** Creates a random wallet. */
export function createWallet(): TestWallet {
  const pair = generateKeyPairSync('ed25519');
  const publicKey = Uint8Array.from(pair.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32));
  return { address: bs58.encode(publicKey), publicKey, sign: (bytes) => Uint8Array.from(sign(null, bytes, pair.privateKey)) };
}

/** The sign-in input from `/auth/nonce`. */
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

/** Renders the text that a wallet signs for `solana:signIn`. Independent of the server's code, so that tests compare the two. */
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

/** Returns the `Cookie` header with all cookies that a response sets. */
export function cookiesOf(response: Response): string {
  return response.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0])
    .join('; ');
}

/** Request options, with `json` for a JSON body. */
export type JsonInit = RequestInit & { json?: unknown };

/** Sends a request to an application. With `json`, the default method is POST and the body is JSON. */
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
  /** Sends a request with the session's cookie. */
  fetch(path: string, init?: JsonInit): Promise<Response>;
}

/** Requests a nonce. */
export async function requestNonce(t: Pick<TestApp, 'url'>, init: JsonInit = {}): Promise<SignInInput> {
  const response = await send(t, '/auth/nonce', { method: 'POST', ...init });
  if (response.status !== 200) throw new Error(`/auth/nonce answered ${response.status}: ${await response.text()}`);
  const { signInInput } = (await response.json()) as { signInInput: SignInInput };
  return signInInput;
}

/** Signs a wallet in through the endpoints. */
export async function signIn(t: Pick<TestApp, 'url'>, wallet: TestWallet = createWallet(), init: JsonInit = {}): Promise<SignedIn> {
  const message = signInText(await requestNonce(t), wallet.address);
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
