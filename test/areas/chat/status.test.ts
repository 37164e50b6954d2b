import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ChatStatus } from '#areas/chat/schemas.ts';
import { notification } from '#areas/social/events.ts';
import { startApi } from '#test/support/api.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { closeRound, openRound, sendMessage } from '#test/support/areas/chat.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { createWallet, send, signIn } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  // No workers run, so events are not published.
  t = await startTestApp({ workers: false });
});
afterAll(() => t.close());

async function status(at: { url: string } = t): Promise<ChatStatus> {
  const response = await send(at, '/chat/status');
  expect(response.status).toBe(200);
  return (await response.json()) as ChatStatus;
}
/** Polls the status until it matches. */
const until = (expected: Partial<ChatStatus>, at?: { url: string }) => retryUntilPass(async () => expect(await status(at)).toMatchObject(expected));

test('the status is ok in a chat without messages', async () => {
  expect(await status()).toEqual({
    ...{ status: 'ok', takesMessages: true, checks: { database: 'ok', redis: 'ok' }, activeRound: null, currentRound: null },
    ...{ messagesLastMinute: 0, lastMessageAt: null, streamLagMs: 0, stuckRounds: 0, slowModeSec: 0 },
  });
});

test('the status has the active round, the number of recent messages and the lag of the event stream', async () => {
  const closesAt = new Date(t.clock.now().getTime() + 60_000).toISOString();
  const id = await openRound(t, { closesAt });
  const me = await signIn(t, createWallet());
  await sendMessage(me, 'one');
  await sendMessage(me, '!enter');
  await until({ status: 'ok', activeRound: { id, closesAt }, messagesLastMinute: 2 });
  expect((await status()).lastMessageAt).toEqual(expect.any(String));
  await retryUntilPass(async () => expect((await status()).streamLagMs).toBeGreaterThan(0));
  await closeRound(t.app);
  await until({ activeRound: null });
});

test('the status is degraded when the event stream lags or rounds are stuck', async () => {
  await t.app.tx(async (tx) => tx.emit(notification, { text: 'hello' }));
  await t.app.tx((tx) => tx.query({ text: `update outbox set at = app_now() - interval '10 seconds'` }));
  await until({ status: 'degraded', takesMessages: true });
  expect((await status()).streamLagMs).toBeGreaterThanOrEqual(10_000);
  await t.app.tx((tx) => tx.query({ text: 'delete from outbox' }));
  await until({ status: 'ok', streamLagMs: 0 });
  const now = t.clock.now().getTime();
  await openRound(t, { opensAt: new Date(now - 200_000).toISOString(), closesAt: new Date(now - 100_000).toISOString() });
  await until({ status: 'degraded', activeRound: null, stuckRounds: 1 });
  await closeRound(t.app);
  await until({ status: 'ok', stuckRounds: 0 });
});

test('without Redis messages are 503 and the status is down', async () => {
  const me = await signIn(t, createWallet());
  const api = await startApi({ ...t.env, REDIS_URL: 'unix:///nowhere/redis.sock' }, t.clock);
  try {
    expect(await status(api)).toMatchObject({ status: 'down', takesMessages: false, checks: { database: 'ok', redis: 'failed' } });
    const answer = await send(api, '/chat/message', { json: { text: 'hello' }, headers: { Cookie: me.cookie } });
    expect([answer.status, answer.headers.get('Retry-After')]).toEqual([503, '1']);
  } finally {
    await api.close();
  }
});

test('without the database messages are 503 and the status is down', async () => {
  const api = await startApi({ ...t.env, DATABASE_URL: 'postgresql:///coinop?host=/nowhere' }, t.clock);
  try {
    expect(await status(api)).toEqual({
      ...{ status: 'down', takesMessages: false, checks: { database: 'failed', redis: 'ok' }, activeRound: null, currentRound: null },
      ...{ messagesLastMinute: null, lastMessageAt: null, streamLagMs: null, stuckRounds: null, slowModeSec: null },
    });
  } finally {
    await api.close();
  }
});
