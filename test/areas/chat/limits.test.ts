import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { startApi } from '#test/support/api.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { BRIDGE_SECRET, bridged, linkedAuthor, verdictOn } from '#test/support/areas/bridge.ts';
import { openRound, sendMessage } from '#test/support/areas/chat.ts';
import { asAdmin } from '#test/support/areas/rounds.ts';
import { createWallet, send, signIn } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ env: { CHAT_MESSAGES_PER_SEC: '5', WEBHOOK_SECRET_CHAT_BRIDGE: BRIDGE_SECRET, QUEUES: 'webhooks' } });
});
afterAll(() => t.close());

const join = () => signIn(t, createWallet());
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
async function slowMode(seconds: number): Promise<void> {
  expect((await send(t, '/admin/chat/slow-mode', { method: 'PUT', json: { seconds }, headers: asAdmin })).status).toBe(200);
  // Every process reads the setting at most a second later.
  await sleep(1_050);
}
beforeEach(() => sleep(1_050));

describe('slow mode', () => {
  test('lets a wallet write one message in the given time, and other wallets write meanwhile', async () => {
    await slowMode(60);
    const [me, other] = await Promise.all([join(), join()]);
    expect((await sendMessage(me, 'first')).status).toBe(201);
    const { status, body } = await sendMessage(me, 'second');
    expect([status, body]).toEqual([429, { error: 'slow mode is on: a wallet or account may send one message in 60 s' }]);
    expect((await sendMessage(other, 'hello')).status).toBe(201);
    const shown = (await (await send(t, '/chat/status')).json()) as { slowModeSec: number };
    expect(shown.slowModeSec).toBe(60);
  });

  test('does not slow down entries', async () => {
    await openRound(t);
    const me = await join();
    expect((await sendMessage(me, 'first')).status).toBe(201);
    expect((await sendMessage(me, '!enter')).status).toBe(201);
  });

  test('ends when an operator sets 0 seconds', async () => {
    await slowMode(0);
    const me = await join();
    for (const text of ['first', 'second']) expect((await sendMessage(me, text)).status).toBe(201);
  });

  test('needs the scope moderation and at most an hour', async () => {
    expect((await send(t, '/admin/chat/slow-mode', { method: 'PUT', json: { seconds: 60 } })).status).toBe(403);
    expect((await send(t, '/admin/chat/slow-mode', { method: 'PUT', json: { seconds: 3_601 }, headers: asAdmin })).status).toBe(400);
  });
});

test('messages of all wallets together have a global rate, which entries do not count for', async () => {
  await openRound(t);
  const wallets = await Promise.all(Array.from({ length: 8 }, join));
  await sleep(1_050);
  const answers = await Promise.all(wallets.map((wallet) => sendMessage(wallet, 'all at once')));
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, 201, 201, 429, 429, 429]);
  const entries = await Promise.all(wallets.map((wallet) => sendMessage(wallet, '!enter')));
  expect(entries.every(({ status }) => status === 201)).toBe(true);
});

test('a wallet writes at most the configured messages in 24 hours, which entries do not count for', async () => {
  const api = await startApi({ ...t.env, CHAT_MESSAGES_PER_DAY: '2' });
  try {
    const me = await join();
    const write = (text: string) => send(api, '/chat/message', { json: { text }, headers: { Cookie: me.cookie } });
    for (const status of [201, 201, 429]) expect((await write('hello')).status).toBe(status);
    expect(Number((await write('hello')).headers.get('Retry-After'))).toBeGreaterThan(86_000);
    expect((await write('!enter 1')).status).not.toBe(429);
  } finally {
    await api.close();
  }
});

describe('text that hides a part of itself', () => {
  test('is refused with the name of the field', async () => {
    const { status, body } = await sendMessage(await join(), 'safe\u202Egpj.exe');
    expect([status, body]).toEqual([
      400,
      { error: 'text must not contain invisible characters, such as bidi controls, zero-width characters or tag characters' },
    ]);
  });

  test('is not stored when a bridged chat delivers it', async () => {
    const author = await linkedAuthor(t);
    const verdict = await verdictOn(t, bridged({ author: author.author, text: 'ad\u200Bmin' }));
    expect(verdict).toMatchObject({ state: 'failed' });
  });
});

test('the author lists the own messages, also deleted ones with the reason', async () => {
  const me = await join();
  const { body: said } = await sendMessage(me, 'buy gold');
  const json = { action: 'delete', messageId: said.messageId, reason: 'advertising' };
  await send(t, '/admin/chat/moderate', { json, headers: asAdmin });
  const response = await me.fetch('/me/chat/messages');
  expect(response.headers.get('X-Total-Count')).toBe('1');
  expect(await response.json()).toMatchObject([
    { messageId: said.messageId, text: null, deletedReason: 'advertising', deletedAt: expect.stringContaining('T') },
  ]);
});
