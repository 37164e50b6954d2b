import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { DeliveryBody, DeliveryView } from '#areas/admin/schemas.ts';
import { postRetry } from '#areas/payouts/routes/payments.ts';
import { linkAccount } from '#areas/social';
import type { WebhookSource } from '#platform/webhooks/config.ts';
import { enqueueDueDeliveries } from '#platform/webhooks/inbox.ts';
import { ADMIN_TOKEN, startTestApp, startWorker, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { BRIDGE_SECRET, bridged, deliverBridged } from '#test/support/areas/bridge.ts';
import { closeRound, entriesOf, openRound } from '#test/support/areas/chat.ts';
import { createAllPayments, eventsOf, paymentRequest, storedPayments } from '#test/support/areas/payouts.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { adminOf } from '#test/support/http/client.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { createSecret, hashOf, standardHeaders, xHeaders } from '#test/support/http/webhook.ts';
import { createWallet, send } from '#test/support/wallet.ts';

const SECRET = createSecret();
const CONSUMER = 'consumer-secret-of-this-test';
const ROUNDS = 'rounds-admin-token-0123456789';
const [US, FAN] = ['1000', '2000'];
let t: TestApp;
let worker: { close(): Promise<void> };
beforeAll(async () => {
  t = await startTestApp({
    workers: false,
    env: {
      ...{ WEBHOOK_SECRET_PAYMENT_STATUS: SECRET, WEBHOOK_SECRET_CHAT_BRIDGE: BRIDGE_SECRET, WEBHOOK_SECRET_X: CONSUMER, X_ACCOUNT_ID: US },
      ...{ USDC_PAYER: 'orchestrator', ADMIN_TOKENS: `${ADMIN_TOKEN},other:moderation+rounds+content:${ROUNDS}`, QUEUES: 'webhooks' },
    },
  });
  worker = await startWorker(t.env, t.clock);
});
afterAll(async () => {
  await worker.close();
  await t.close();
});

const asOperator = (path: string, init: RequestInit = {}, token = ADMIN_TOKEN) =>
  send(t, path, { ...init, headers: { Authorization: `Bearer ${token}` } });
const pathOf = (source: string, id: string) => `/admin/webhooks/${source}/${encodeURIComponent(id)}`;
const replay = (source: string, id: string) => asOperator(`${pathOf(source, id)}/replay`, { method: 'POST' });
const read = async (source: WebhookSource, id: string) => await jsonOf(asOperator(pathOf(source, id)), DeliveryBody);
const list = async (query: string) => await jsonOf(asOperator(`/admin/webhooks${query}`), z.array(DeliveryView));

/** Waits until a delivery is processed or has failed. */
async function settled(source: WebhookSource, id: string): Promise<z.output<typeof DeliveryBody>> {
  await retryUntilPass(async () => expect((await read(source, id)).state).not.toBe('received'));
  return await read(source, id);
}
/** Replays a delivery, and waits until it is processed or has failed. */
async function replayed(source: WebhookSource, id: string): Promise<z.output<typeof DeliveryBody>> {
  const response = await replay(source, id);
  expect([response.status, response.headers.get('Location')]).toEqual([202, pathOf(source, id)]);
  expect(await jsonOf(response, DeliveryView)).toMatchObject({ state: 'received', attempts: 0, verdict: null, settledAt: null });
  return await settled(source, id);
}

async function report(payment: { id: string; wallet: string; amount: bigint }, status: string, timestamp = t.clock.now()): Promise<string> {
  const id = randomUUID();
  const data = { paymentId: payment.id, wallet: payment.wallet, amount: String(payment.amount), currency: 'usdc', status };
  const body = JSON.stringify({ type: 'payment.status', timestamp: timestamp.toISOString(), data });
  const headers = { 'Content-Type': 'application/json', ...standardHeaders(SECRET, id, Math.floor(t.clock.now().getTime() / 1_000), body) };
  expect((await send(t, '/webhooks/payment-status', { method: 'POST', headers, body })).status).toBe(200);
  return id;
}
async function orchestrated() {
  const one = paymentRequest({ amount: 1_000n });
  const [owed] = await createAllPayments(t, [one]);
  if (!owed) throw new Error('no payment was created');
  return { ...owed, wallet: one.wallet, amount: one.amount };
}
const stateOf = async (payment: { id: string }) =>
  (await sql<{ state: string }>(t.app, 'select state from payments where id = $1', [payment.id]))[0]?.state;

describe('webhook deliveries', () => {
  test('are listed newest first, with filters by source and state, and with their results', async () => {
    const payment = await orchestrated();
    const done = await report(payment, 'completed');
    const lost = await report({ ...payment, id: randomUUID() }, 'completed');
    const said = await deliverBridged(t, bridged());
    for (const id of [done, lost]) await settled('payment-status', id);
    await settled('chat-bridge', said.id);
    expect((await list('')).map(({ id }) => id)).toEqual([said.id, lost, done]);
    expect(await list('?source=payment-status')).toMatchObject([
      { id: lost, state: 'failed', verdict: 'the payment does not exist' },
      { id: done, source: 'payment-status', state: 'worked', verdict: 'the payment is completed', attempts: 1, replayedAt: null },
    ]);
    expect((await list('?state=worked')).map(({ id }) => id)).toEqual([said.id, done]);
    expect((await list('?state=failed&source=chat-bridge')).length).toBe(0);
    const page = await asOperator('/admin/webhooks?limit=1&offset=1');
    expect([page.headers.get('X-Total-Count'), (await jsonOf(page, z.array(DeliveryView))).map(({ id }) => id)]).toEqual(['3', [lost]]);
    expect((await asOperator('/admin/webhooks?state=lost')).status).toBe(400);
  });

  test('are returned with the received body', async () => {
    const message = bridged({ text: 'grüße 😀' });
    const { id } = await deliverBridged(t, message);
    const { body, bytes, receivedAt, settledAt } = await settled('chat-bridge', id);
    expect(body).toBe(JSON.stringify(message));
    expect(bytes).toBe(Buffer.byteLength(body));
    expect(Date.parse(settledAt ?? '')).toBeGreaterThanOrEqual(Date.parse(receivedAt));
  });

  test('get 404 for an unknown id or an unknown source', async () => {
    for (const response of [await asOperator(pathOf('x', 'nothing')), await replay('chat-bridge', 'nothing')]) {
      expect([response.status, await response.json()]).toEqual([404, { error: 'no such delivery' }]);
    }
    expect((await asOperator(pathOf('elsewhere', 'nothing'))).status).toBe(404);
  });

  test('and the audit require the scope money', async () => {
    const { id } = await deliverBridged(t, bridged());
    for (const path of ['/admin/webhooks', pathOf('chat-bridge', id), '/admin/audit']) {
      expect([(await asOperator(path, {}, ROUNDS)).status, (await send(t, path)).status]).toEqual([403, 403]);
    }
    expect((await asOperator(`${pathOf('chat-bridge', id)}/replay`, { method: 'POST' }, ROUNDS)).status).toBe(403);
    expect((await send(t, `${pathOf('chat-bridge', id)}/replay`, { method: 'POST' })).status).toBe(403);
  });
});

describe('the replay of a webhook delivery', () => {
  test('succeeds for a failed delivery after the cause of the failure is gone', async () => {
    const author = { id: randomUUID(), handle: 'ada' };
    const mute = { action: 'mute', account: { platform: 'twitch', id: author.id }, minutes: 60 };
    expect((await send(t, '/admin/chat/moderate', { json: mute, headers: { Authorization: `Bearer ${ADMIN_TOKEN}` } })).status).toBe(200);
    const { id } = await deliverBridged(t, bridged({ author }));
    expect(await settled('chat-bridge', id)).toMatchObject({ state: 'failed', verdict: expect.stringContaining('muted') });
    expect(await replayed('chat-bridge', id)).toMatchObject({ state: 'failed' });
    await t.clock.set(new Date(t.clock.now().getTime() + 3_601_000));
    expect(await replayed('chat-bridge', id)).toMatchObject({ state: 'worked', verdict: 'stored', attempts: 1 });
    expect((await sql(t.app, 'select 1 from chat_messages where account = $1', [author.id])).length).toBe(1);
  });

  test('gets 409 while the delivery is waiting, and of fifty concurrent replays one succeeds', async () => {
    const payment = await orchestrated();
    const id = await report(payment, 'completed');
    await settled('payment-status', id);
    await worker.close();
    const all = await Promise.all(Array.from({ length: 50 }, () => replay('payment-status', id)));
    expect(all.map(({ status }) => status).sort()).toEqual([202, ...Array.from({ length: 49 }, () => 409)]);
    const refused = await replay('payment-status', id);
    expect([refused.status, await refused.json()]).toEqual([
      409,
      { error: 'a delivery can be replayed only in the states “worked” and “failed”; this delivery is “received”' },
    ]);
    worker = await startWorker(t.env, t.clock);
    expect(await settled('payment-status', id)).toMatchObject({ state: 'worked', attempts: 1 });
  });

  test('is enqueued again by the sweep when its job is lost, with backoff from the time of the replay', async () => {
    const { id } = await deliverBridged(t, bridged());
    await settled('chat-bridge', id);
    await worker.close();
    await sql(t.app, `update webhook_deliveries set received_at = app_now() - interval '1 day' where id = $1`, [id]);
    await replay('chat-bridge', id);
    await t.app.queues.all.get('webhooks')?.obliterate({ force: true });
    await sql(t.app, 'update webhook_deliveries set attempts = 10 where id = $1', [id]);
    const waiting = async () => {
      await enqueueDueDeliveries(t.app, 'chat-bridge');
      return (await t.app.queues.all.get('webhooks')?.getWaitingCount()) ?? 0;
    };
    expect(await waiting()).toBe(0);
    await sql(t.app, `update webhook_deliveries set replayed_at = app_now() - interval '1025 seconds' where id = $1`, [id]);
    expect(await waiting()).toBe(1);
    worker = await startWorker(t.env, t.clock);
    expect(await settled('chat-bridge', id)).toMatchObject({ state: 'worked', verdict: 'the message is stored already', attempts: 11 });
  });

  test('changes nothing for a processed payment report, even if the payment was retried since', async () => {
    const payment = await orchestrated();
    const [start, later] = [t.clock.now(), new Date(t.clock.now().getTime() + 1_000)];
    const failing = await report(payment, 'failed', start);
    await settled('payment-status', failing);
    await adminOf(t).ok(postRetry, { params: { id: payment.id } });
    expect(await replayed('payment-status', failing)).toMatchObject({ state: 'worked', verdict: 'ignored: a report with the same timestamp exists' });
    expect(await stateOf(payment)).toBe('pending');
    const completing = await report(payment, 'completed', later);
    await settled('payment-status', completing);
    const [stored, told] = [await storedPayments(t, [payment]), await eventsOf(t, payment)];
    expect(told.map(({ type }) => type)).toEqual(['payout_failed', 'payout_confirmed']);
    for (const id of [failing, completing, completing]) {
      expect(await replayed('payment-status', id)).toMatchObject({ state: 'worked', verdict: expect.stringContaining('ignored: ') });
    }
    expect([await storedPayments(t, [payment]), await eventsOf(t, payment)]).toEqual([stored, told]);
  });

  test('changes nothing for a stored chat message, and adds no second entry to a round', async () => {
    const author = { id: randomUUID(), handle: 'grace' };
    const wallet = createWallet().address;
    await t.app.tx((tx) => linkAccount(tx, { platform: 'twitch', accountId: author.id, handle: author.handle, wallet }));
    const round = await openRound(t, { maxEntriesPerWallet: 5, opensAt: new Date(t.clock.now().getTime() + 5).toISOString() });
    const { id } = await deliverBridged(t, bridged({ author, text: '!enter 1 2 3 4 5' }));
    expect(await settled('chat-bridge', id)).toMatchObject({ state: 'worked', verdict: `stored as entry 0 of round ${round}` });
    const counts = async () => [
      (await entriesOf(t.app, round)).length,
      ...(await sql(t.app, `select count(*)::int as n from chat_messages where account = $1`, [author.id])),
      ...(await sql(t.app, `select count(*)::int as n from outbox where type in ('chat_message', 'new_entry')`)),
    ];
    const before = await counts();
    expect(await replayed('chat-bridge', id)).toMatchObject({ state: 'worked', verdict: 'the message is stored already' });
    expect(await counts()).toEqual(before);
    await closeRound(t.app);
  });

  test('changes nothing for a delivery from X, whether its engagement was credited or is pending', async () => {
    const user = (id: string) => ({ id, screen_name: `user${id}` });
    const at = t.clock.now().getTime();
    const body = JSON.stringify({
      for_user_id: US,
      follow_events: [{ type: 'follow', created_timestamp: String(at), source: user(FAN), target: user(US) }],
    });
    const headers = { 'Content-Type': 'application/json', ...xHeaders(CONSUMER, body) };
    expect((await send(t, '/integrations/x/events', { method: 'POST', headers, body })).status).toBe(200);
    const id = hashOf(body);
    const known = () =>
      Promise.all([
        sql(t.app, `select kind, source_id, wallet from activities where kind = 'follow'`),
        sql(t.app, `select kind, source_id from kept_engagements`),
      ]);
    expect(await settled('x', id)).toMatchObject({ state: 'worked', verdict: 'pending until the account is linked: follow' });
    const kept = await known();
    expect(kept.map(({ length }) => length)).toEqual([0, 1]);
    await replayed('x', id);
    expect(await known()).toEqual(kept);
    const wallet = createWallet().address;
    await t.app.tx((tx) => linkAccount(tx, { platform: 'x', accountId: FAN, handle: `user${FAN}`, wallet }));
    await replayed('x', id);
    const credited = await known();
    expect(credited[0]).toMatchObject([{ kind: 'follow', wallet }]);
    await replayed('x', id);
    expect(await known()).toEqual(credited);
  });

  test('is recorded in the audit', async () => {
    const { id } = await deliverBridged(t, bridged());
    await settled('chat-bridge', id);
    await replayed('chat-bridge', id);
    const [entry] = await sql(t.app, 'select token_name, method, path from admin_audit order by id desc limit 1');
    expect(entry).toEqual({ token_name: 'admin-1', method: 'POST', path: `${pathOf('chat-bridge', id)}/replay` });
  });
});
