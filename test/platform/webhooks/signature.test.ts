import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { readConfig } from '#config';
import { statement } from '#platform/db/sql.ts';
import { route } from '#platform/http/route.ts';
import { WEBHOOK_SOURCES, type WebhookSource } from '#platform/webhooks/config.ts';
import { Acknowledged, acknowledged } from '#platform/webhooks/receive.ts';
import { verifyStandard } from '#platform/webhooks/signature.ts';
import { readResponse, startTestServer, type TestServer } from '#test/support/http/framework.ts';
import { createSecret, deliver, standardHeaders, xHeaders } from '#test/support/http/webhook.ts';
import { PRODUCTION } from '#test/support/production.ts';

const NEW_SECRET = createSecret();
const OLD_SECRET = createSecret(24);
const X_SECRET = 'consumer-secret-of-x-0123456789';

const routes = WEBHOOK_SOURCES.map((source) =>
  route({
    method: 'post',
    path: `/webhooks/${source}`,
    auth: { webhook: source },
    summary: 'Receives a delivery',
    body: z.looseObject({}),
    returns: { 200: Acknowledged },
    fails: [],
    handler: async () => acknowledged(),
  }),
);
const countDeliveries = statement<{ n: number }>('test_count_deliveries', 'select count(*)::int as n from webhook_deliveries');

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(routes, { env: { WEBHOOK_SECRET_PAYMENT_STATUS: `${NEW_SECRET},${OLD_SECRET}`, WEBHOOK_SECRET_X: X_SECRET } });
});
afterAll(() => server.close());

const nowSec = () => Math.floor(server.app.clock.now().getTime() / 1_000);
const signed = (id: string, body: string | Buffer, { secret = NEW_SECRET, at = nowSec() }: { secret?: string; at?: number | string } = {}) =>
  standardHeaders(secret, id, at, body);
const send = (headers: Record<string, string>, body: string | Buffer, source: WebhookSource = 'payment-status') =>
  deliver(server, source, headers, body);

const RECEIVED = { status: 200, body: { received: true } };
const UNSIGNED = { status: 401, body: { error: 'webhook-signature must be a valid and recent signature of this delivery' } };
const UNSIGNED_X = { status: 401, body: { error: 'x-twitter-webhooks-signature must be a valid and recent signature of this delivery' } };

/** Sends a delivery, and expects a 401 and no stored row. */
async function expectUnsigned(headers: Record<string, string>, body: string | Buffer, source?: WebhookSource): Promise<void> {
  const before = await server.app.db.query(countDeliveries);
  expect(await readResponse(await send(headers, body, source))).toEqual(source === 'x' ? UNSIGNED_X : UNSIGNED);
  expect(await server.app.db.query(countDeliveries)).toEqual(before);
}

test('a signature of the reference implementation of Standard Webhooks is accepted within 300 s of its timestamp', () => {
  const key = Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64');
  const headers = {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  };
  const check = (shiftSec: number) =>
    verifyStandard([key], headers, Buffer.from('{"test": 2432232314}'), new Date((1_614_265_330 + shiftSec) * 1_000));
  expect([-301, -300, 0, 300, 301].map(check)).toEqual([null, headers['webhook-id'], headers['webhook-id'], headers['webhook-id'], null]);
});

test('one valid signature among several is enough', async () => {
  const id = randomUUID();
  const good = signed(id, '{}');
  const others = ['v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw', signed(id, '{}', { secret: createSecret() })['webhook-signature']];
  await expectUnsigned({ ...good, 'webhook-signature': others.join(' ') }, '{}');
  expect(await readResponse(await send({ ...good, 'webhook-signature': [...others, good['webhook-signature']].join(' ') }, '{}'))).toEqual(RECEIVED);
});

test('every configured secret is accepted, so that secrets can be rotated', async () => {
  const id = randomUUID();
  expect(await readResponse(await send(signed(id, '{}', { secret: OLD_SECRET }), '{}'))).toEqual(RECEIVED);
});

test.each<[string, (id: string) => Record<string, string>]>([
  ['another body', (id) => signed(id, '{"amount":2}')],
  ['the same JSON in other bytes', (id) => signed(id, '{"amount": 1}')],
  ['another id', (id) => ({ ...signed(id, '{"amount":1}'), 'webhook-id': randomUUID() })],
  ['another timestamp', (id) => ({ ...signed(id, '{"amount":1}'), 'webhook-timestamp': String(nowSec() - 1) })],
  ['an unknown secret', (id) => signed(id, '{"amount":1}', { secret: createSecret() })],
  ['a secret that is not base64-decoded', (id) => signed(id, '{"amount":1}', { secret: `whsec_${Buffer.from(NEW_SECRET).toString('base64')}` })],
  ['a timestamp too far in the past', (id) => signed(id, '{"amount":1}', { at: nowSec() - 305 })],
  ['a timestamp too far in the future', (id) => signed(id, '{"amount":1}', { at: nowSec() + 305 })],
  ['a timestamp with trailing text', (id) => signed(id, '{"amount":1}', { at: `${nowSec()}x` })],
  ['a timestamp that is not a number', (id) => signed(id, '{"amount":1}', { at: 'now' })],
  ['a fractional timestamp', (id) => signed(id, '{"amount":1}', { at: `${nowSec()}.5` })],
  ['an id with a full stop', (id) => signed(`${id}.1`, '{"amount":1}')],
  ['an id that is too long', (id) => signed(id.padEnd(256, 'x'), '{"amount":1}')],
  ['no id', (id) => without(signed(id, '{"amount":1}'), 'webhook-id')],
  ['no timestamp', (id) => without(signed(id, '{"amount":1}'), 'webhook-timestamp')],
  ['no signature', (id) => without(signed(id, '{"amount":1}'), 'webhook-signature')],
  ['no headers', () => ({})],
  ['another version', (id) => prefixed(signed(id, '{"amount":1}'), 'v2,')],
  ['no version', (id) => prefixed(signed(id, '{"amount":1}'), '')],
  ['an empty signature', (id) => ({ ...signed(id, '{"amount":1}'), 'webhook-signature': 'v1,' })],
  [
    'a truncated signature',
    (id) => ({ ...signed(id, '{"amount":1}'), 'webhook-signature': signed(id, '{"amount":1}')['webhook-signature'].slice(0, -2) }),
  ],
  [
    'the signature in the header of X',
    (id) => ({ ...xHeaders(NEW_SECRET, '{"amount":1}'), 'webhook-id': id, 'webhook-timestamp': String(nowSec()) }),
  ],
  ['no signature and no JSON content type', () => ({ 'Content-Type': 'text/plain' })],
])('a delivery gets a 401 and is not stored with: %s', async (_case, headers) => {
  const id = randomUUID();
  await expectUnsigned(headers(id), '{"amount":1}');
});

function without(headers: Record<string, string>, name: string): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([key]) => key !== name));
}
function prefixed(headers: Record<string, string>, version: string): Record<string, string> {
  return { ...headers, 'webhook-signature': (headers['webhook-signature'] ?? '').replace('v1,', version) };
}

test('a source without a configured secret rejects every delivery with 401', async () => {
  for (const secret of [NEW_SECRET, `whsec_${Buffer.alloc(0).toString('base64')}`]) {
    await expectUnsigned(signed(randomUUID(), '{}', { secret }), '{}', 'chat-bridge');
  }
});

test('the signature covers the raw bytes, not the decoded text', async () => {
  const replaced = Buffer.from('{"name":"\ufffd"}');
  const raw = Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xff]), Buffer.from('"}')]);
  await expectUnsigned(signed(randomUUID(), replaced), raw);
});

test('a delivery of X with a wrong or missing signature gets a 401', async () => {
  const body = '{"name":"forged"}';
  await expectUnsigned(xHeaders(X_SECRET, '{"name": "forged"}'), body, 'x');
  await expectUnsigned(xHeaders('another-secret-0123456789', body), body, 'x');
  await expectUnsigned(
    { 'x-twitter-webhooks-signature': xHeaders(X_SECRET, body)['x-twitter-webhooks-signature'].replace('sha256=', '') },
    body,
    'x',
  );
  await expectUnsigned({}, body, 'x');
  await expectUnsigned(signed(randomUUID(), body), body, 'x');
});

test.each([
  ['WEBHOOK_SECRET_PAYMENT_STATUS', randomBytes(32).toString('base64')],
  ['WEBHOOK_SECRET_PAYMENT_STATUS', `${NEW_SECRET},whsec_`],
  ['WEBHOOK_SECRET_CHAT_BRIDGE', createSecret(23)],
  ['WEBHOOK_SECRET_CHAT_BRIDGE', createSecret(65)],
  ['WEBHOOK_SECRET_CHAT_BRIDGE', 'whsec_not base64 at all, though it is long enough'],
  ['WEBHOOK_SECRET_X', 'short'],
])('readConfig rejects a malformed %s without showing its value', (variable, value) => {
  const start = () => readConfig({ ...PRODUCTION, [variable]: value });
  expect(start).toThrow(variable);
  expect(start).not.toThrow(value);
});
