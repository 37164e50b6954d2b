import bs58 from 'bs58';
import { z } from 'zod';
import type { Statement } from '#platform/db/sql.ts';
import type { TestApp } from './app.ts';
import { deleteKeys, findKeys } from './redis-keys.ts';
import { createWallet, type JsonInit, requestNonce, type SignInInput, send, signInText, type TestWallet } from './wallet.ts';

/** Signs a text (or the text of an input) and sends it to `/auth/verify`. @param publicKey the address in the request, by default the signer's */
export function verifyText(
  t: Pick<TestApp, 'url'>,
  wallet: TestWallet,
  textOrInput: string | SignInInput,
  publicKey: string = wallet.address,
  init: JsonInit = {},
): Promise<Response> {
  const message = typeof textOrInput === 'string' ? textOrInput : signInText(textOrInput, publicKey);
  return send(t, '/auth/verify', { ...init, json: { publicKey, message, signature: bs58.encode(wallet.sign(Buffer.from(message))) } });
}

/** A wallet with a session token. */
export interface TokenHolder {
  readonly wallet: string;
  readonly token: string;
  readonly expiresAt: string;
  /** The headers of a request with the token from its origin. */
  readonly headers: Readonly<Record<string, string>>;
  /** Sends a request with these headers. */
  fetch(path: string, init?: JsonInit): Promise<Response>;
}

/** Signs a wallet in with a session token. @param origin the origin of the page; absent for a client that is not a browser */
export async function signInWithToken(t: Pick<TestApp, 'url'>, wallet: TestWallet = createWallet(), origin?: string): Promise<TokenHolder> {
  const from: Record<string, string> = origin === undefined ? {} : { Origin: origin };
  const message = signInText(await requestNonce(t, { headers: from }), wallet.address);
  const signature = bs58.encode(wallet.sign(Buffer.from(message)));
  const response = await send(t, '/auth/verify', {
    headers: from,
    json: { publicKey: wallet.address, message, signature, transport: 'bearer' },
  });
  if (response.status !== 200) throw new Error(`/auth/verify answered ${response.status}: ${await response.text()}`);
  if (response.headers.getSetCookie().length > 0) throw new Error('/auth/verify set a cookie beside the token');
  const { token, expiresAt } = z.object({ token: z.string(), expiresAt: z.string() }).parse(await response.json());
  const headers = { ...from, Authorization: `Bearer ${token}` };
  return {
    ...{ wallet: wallet.address, token, expiresAt, headers },
    fetch: (path, init = {}) => send(t, path, { ...init, headers: { ...headers, ...Object.fromEntries(new Headers(init.headers)) } }),
  };
}

/** Counts the rows of a table that meet a condition. */
export async function countRows(t: Pick<TestApp, 'app'>, table: string, condition: string, values: readonly unknown[]): Promise<number> {
  const statement: Statement<{ n: number }> = { text: `select count(*)::int as n from ${table} where ${condition}` };
  const [row] = await t.app.db.query(statement, values);
  return row?.n ?? 0;
}

/** Returns the Redis keys of the copies of all sessions. */
export const sessionKeys = (t: Pick<TestApp, 'app' | 'env'>): Promise<string[]> => findKeys(t.app.redis, `{${t.env.REDIS_PREFIX}:session:*}:copy`);

/** Returns the Redis key of the mark that a session has ended. @param copy the key of the copy of the session */
export const markKeyOf = (copy: string): string => copy.slice(1, -'}:copy'.length);

/** Deletes the copies of all sessions from Redis. */
export const loseSessions = (t: Pick<TestApp, 'app' | 'env'>): Promise<void> => deleteKeys(t.app.redis, `{${t.env.REDIS_PREFIX}:session:*}:copy`);

/** Returns the values of the copies of all sessions in Redis. */
export const cachedSessions = async (t: Pick<TestApp, 'app' | 'env'>): Promise<(string | null)[]> =>
  await Promise.all((await sessionKeys(t)).map((key) => t.app.redis.get(key)));
