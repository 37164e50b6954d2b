import { randomUUID } from 'node:crypto';
import { expect } from '@jest/globals';
import { linkAccount } from '#areas/social';
import type { TestApp } from '../app.ts';
import { createSecret, standardHeaders } from '../http/webhook.ts';
import { createWallet, send } from '../wallet.ts';
import { sql } from './boards.ts';
import { retryUntilPass } from './player.ts';

/** Secret that signs the deliveries of the test application's bridge. */
export const BRIDGE_SECRET = createSecret();

/** Returns a message of a chat named `twitch`, of a new author. */
export const bridged = (given: Record<string, unknown> = {}) => ({
  platform: 'twitch',
  messageId: randomUUID(),
  author: { id: randomUUID(), handle: 'ada' },
  text: 'hello from elsewhere',
  at: '2026-11-21T12:00:00Z',
  ...given,
});

/** Delivers a body as a bridge does. */
export async function deliverBridged(t: Pick<TestApp, 'url' | 'clock'>, body: unknown, { id = randomUUID(), secret = BRIDGE_SECRET } = {}) {
  const text = JSON.stringify(body);
  const headers = standardHeaders(secret, id, Math.floor(t.clock.now().getTime() / 1_000), text);
  const response = await send(t, '/integrations/chat/messages', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: text,
  });
  return { id, status: response.status, body: await response.json(), headers: response.headers };
}

/** Delivers a body and waits for its verdict. */
export async function verdictOn(t: Pick<TestApp, 'app' | 'url' | 'clock'>, body: unknown): Promise<{ state: string; verdict: string | null }> {
  const answer = await deliverBridged(t, body);
  expect([answer.status, answer.body]).toEqual([200, { received: true }]);
  let row: { state: string; verdict: string | null } | undefined;
  await retryUntilPass(async () => {
    [row] = await sql<{ state: string; verdict: string | null }>(
      t.app,
      `select state, verdict from webhook_deliveries where source = 'chat-bridge' and id = $1`,
      [answer.id],
    );
    expect(row?.state).not.toBe('received');
  });
  if (!row) throw new Error('the delivery was not stored');
  return row;
}

/** Creates a `twitch` account that a new wallet has linked. */
export async function linkedAuthor(t: Pick<TestApp, 'app'>): Promise<{ author: { id: string; handle: string }; wallet: string }> {
  const author = { id: randomUUID(), handle: 'grace' };
  const wallet = createWallet().address;
  await t.app.tx((tx) => linkAccount(tx, { platform: 'twitch', accountId: author.id, handle: author.handle, wallet }));
  return { author, wallet };
}
