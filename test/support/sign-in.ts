import bs58 from 'bs58';
import type { Statement } from '#platform/db/sql.ts';
import type { TestApp } from './app.ts';
import { type JsonInit, type SignInInput, send, signInText, type TestWallet } from './wallet.ts';

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

/** Counts the rows of a table that meet a condition. */
export async function countRows(t: Pick<TestApp, 'app'>, table: string, condition: string, values: readonly unknown[]): Promise<number> {
  const statement: Statement<{ n: number }> = { text: `select count(*)::int as n from ${table} where ${condition}` };
  const [row] = await t.app.db.query(statement, values);
  return row?.n ?? 0;
}

/** Returns the Redis keys of all sessions. */
export const sessionKeys = (t: Pick<TestApp, 'app' | 'env'>): Promise<string[]> => t.app.redis.keys(`${t.env.REDIS_PREFIX}:session:*`);
