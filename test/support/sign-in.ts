import bs58 from 'bs58';
import type { Statement } from '#platform/db/sql.ts';
import type { TestApp } from './app.ts';
import { type JsonInit, type SignInInput, send, signInText, type TestWallet } from './wallet.ts';

/** Signs a text (or the one that an input makes) and sends it to `/auth/verify` under an address, the signer's own by default. */
export function verifyText(
  t: Pick<TestApp, 'url'>,
  wallet: TestWallet,
  what: string | SignInInput,
  publicKey: string = wallet.address,
  init: JsonInit = {},
): Promise<Response> {
  const message = typeof what === 'string' ? what : signInText(what, publicKey);
  return send(t, '/auth/verify', { ...init, json: { publicKey, message, signature: bs58.encode(wallet.sign(Buffer.from(message))) } });
}

/** How many rows of a table fulfil a condition. */
export async function count(t: Pick<TestApp, 'app'>, table: string, condition: string, values: readonly unknown[]): Promise<number> {
  const statement: Statement<{ n: number }> = { text: `select count(*)::int as n from ${table} where ${condition}` };
  const [row] = await t.app.db.query(statement, values);
  return row?.n ?? 0;
}

/** The keys under which Redis knows of sessions. */
export const sessionKeys = (t: Pick<TestApp, 'app' | 'env'>): Promise<string[]> => t.app.redis.keys(`${t.env.REDIS_PREFIX}:session:*`);
