import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { readConfig, WEBHOOK_SOURCES, type WebhookSource } from '#config';
import { statement } from '#platform/db/sql.ts';
import { route } from '#platform/http/route.ts';
import { Acknowledged, acknowledged } from '#platform/webhooks/receive.ts';
import { verifyStandard } from '#platform/webhooks/signature.ts';
import { answerOf, type Kit, startKit } from '#test/support/http/framework.ts';
import { createSecret, deliver, standardHeaders, xHeaders } from '#test/support/http/webhook.ts';

const NEW_SECRET = createSecret();
const OLD_SECRET = createSecret(24);
const X_SECRET = 'consumer-secret-of-x-0123456789';

const routes = WEBHOOK_SOURCES.map((source) =>
  route({
    method: 'post',
    path: `/webhooks/${source}`,
    auth: { webhook: source },
    summary: 'Takes a delivery',
    body: z.looseObject({}),
    returns: { 200: Acknowledged },
    fails: [],
    handler: async () => acknowledged(),
  }),
);
const countDeliveries = statement<{ n: number }>('test_count_deliveries', 'select count(*)::int as n from webhook_deliveries');

let kit: Kit;
beforeAll(async () => {
  kit = await startKit(routes, { env: { WEBHOOK_SECRET_PAYMENT_STATUS: `${NEW_SECRET},${OLD_SECRET}`, WEBHOOK_SECRET_X: X_SECRET } });
});
afterAll(() => kit.close());

const nowSec = () => Math.floor(kit.app.clock.now().getTime() / 1_000);
const signed = (id: string, body: string | Buffer, { secret = NEW_SECRET, at = nowSec() }: { secret?: string; at?: number | string } = {}) =>
  standardHeaders(secret, id, at, body);
const send = (headers: Record<string, string>, body: string | Buffer, source: WebhookSource = 'payment-status') =>
  deliver(kit, source, headers, body);

const RECEIVED = { status: 200, body: { received: true } };
const UNSIGNED = { status: 401, body: { error: 'webhook-signature must be a valid and recent signature of this delivery' } };
const UNSIGNED_X = { status: 401, body: { error: 'x-twitter-webhooks-signature must be a valid and recent signature of this delivery' } };

/** Sends what must be refused as unsigned, and sees that nothing came of it. */
async function refused(headers: Record<string, string>, body: string | Buffer, source?: WebhookSource): Promise<void> {
  const before = await kit.app.db.query(countDeliveries);
  expect(await answerOf(await send(headers, body, source))).toEqual(source === 'x' ? UNSIGNED_X : UNSIGNED);
  expect(await kit.app.db.query(countDeliveries)).toEqual(before);
}

test('what the reference implementation of Standard Webhooks signs is accepted', () => {
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

test('one good signature among several is enough', async () => {
  const id = randomUUID();
  const good = signed(id, '{}');
  const others = ['v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw', signed(id, '{}', { secret: createSecret() })['webhook-signature']];
  await refused({ ...good, 'webhook-signature': others.join(' ') }, '{}');
  expect(await answerOf(await send({ ...good, 'webhook-signature': [...others, good['webhook-signature']].join(' ') }, '{}'))).toEqual(RECEIVED);
});

test('while secrets rotate, the older one is still accepted', async () => {
  const id = randomUUID();
  expect(await answerOf(await send(signed(id, '{}', { secret: OLD_SECRET }), '{}'))).toEqual(RECEIVED);
});

test.each<[string, (id: string) => Record<string, string>]>([
  ['another body', (id) => signed(id, '{"amount":2}')],
  ['the same JSON in other bytes', (id) => signed(id, '{"amount": 1}')],
  ['another id', (id) => ({ ...signed(id, '{"amount":1}'), 'webhook-id': randomUUID() })],
  ['another timestamp', (id) => ({ ...signed(id, '{"amount":1}'), 'webhook-timestamp': String(nowSec() - 1) })],
  ['a secret that is not ours', (id) => signed(id, '{"amount":1}', { secret: createSecret() })],
  ['a secret that is not decoded', (id) => signed(id, '{"amount":1}', { secret: `whsec_${Buffer.from(NEW_SECRET).toString('base64')}` })],
  ['a time too long ago', (id) => signed(id, '{"amount":1}', { at: nowSec() - 305 })],
  ['a time too far ahead', (id) => signed(id, '{"amount":1}', { at: nowSec() + 305 })],
  ['a timestamp with more behind it', (id) => signed(id, '{"amount":1}', { at: `${nowSec()}x` })],
  ['a timestamp that is no number', (id) => signed(id, '{"amount":1}', { at: 'now' })],
  ['a fractional timestamp', (id) => signed(id, '{"amount":1}', { at: `${nowSec()}.5` })],
  ['an id with a full stop', (id) => signed(`${id}.1`, '{"amount":1}')],
  ['an id that is too long', (id) => signed(id.padEnd(256, 'x'), '{"amount":1}')],
  ['no id', (id) => without(signed(id, '{"amount":1}'), 'webhook-id')],
  ['no timestamp', (id) => without(signed(id, '{"amount":1}'), 'webhook-timestamp')],
  ['no signature', (id) => without(signed(id, '{"amount":1}'), 'webhook-signature')],
  ['nothing at all', () => ({})],
  ['another version', (id) => prefixed(signed(id, '{"amount":1}'), 'v2,')],
  ['no version', (id) => prefixed(signed(id, '{"amount":1}'), '')],
  ['an empty signature', (id) => ({ ...signed(id, '{"amount":1}'), 'webhook-signature': 'v1,' })],
  [
    'a signature cut short',
    (id) => ({ ...signed(id, '{"amount":1}'), 'webhook-signature': signed(id, '{"amount":1}')['webhook-signature'].slice(0, -2) }),
  ],
  [
    'the signature in the header of X',
    (id) => ({ ...xHeaders(NEW_SECRET, '{"amount":1}'), 'webhook-id': id, 'webhook-timestamp': String(nowSec()) }),
  ],
  ['no signature, and no JSON type either', () => ({ 'Content-Type': 'text/plain' })],
])('a delivery is unsigned with %s', async (_what, headers) => {
  const id = randomUUID();
  await refused(headers(id), '{"amount":1}');
});

function without(headers: Record<string, string>, name: string): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([key]) => key !== name));
}
function prefixed(headers: Record<string, string>, version: string): Record<string, string> {
  return { ...headers, 'webhook-signature': (headers['webhook-signature'] ?? '').replace('v1,', version) };
}

test('a source without a secret refuses everything', async () => {
  for (const secret of [NEW_SECRET, `whsec_${Buffer.alloc(0).toString('base64')}`]) {
    await refused(signed(randomUUID(), '{}', { secret }), '{}', 'chat-bridge');
  }
});

test('bytes that are not UTF-8 are signed as bytes: what decodes alike is not the same', async () => {
  const replaced = Buffer.from('{"name":"\ufffd"}');
  const raw = Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xff]), Buffer.from('"}')]);
  await refused(signed(randomUUID(), replaced), raw);
});

test('X must sign these very bytes with the secret that it shares with us', async () => {
  const body = '{"name":"forged"}';
  await refused(xHeaders(X_SECRET, '{"name": "forged"}'), body, 'x');
  await refused(xHeaders('another-secret-0123456789', body), body, 'x');
  await refused({ 'x-twitter-webhooks-signature': xHeaders(X_SECRET, body)['x-twitter-webhooks-signature'].replace('sha256=', '') }, body, 'x');
  await refused({}, body, 'x');
  await refused(signed(randomUUID(), body), body, 'x');
});

test.each([
  ['WEBHOOK_SECRET_PAYMENT_STATUS', randomBytes(32).toString('base64')],
  ['WEBHOOK_SECRET_PAYMENT_STATUS', `${NEW_SECRET},whsec_`],
  ['WEBHOOK_SECRET_CHAT_BRIDGE', createSecret(23)],
  ['WEBHOOK_SECRET_CHAT_BRIDGE', createSecret(65)],
  ['WEBHOOK_SECRET_CHAT_BRIDGE', 'whsec_not base64 at all, though it is long enough'],
  ['WEBHOOK_SECRET_X', 'short'],
])('a process does not start with a malformed %s, and does not tell it', (variable, value) => {
  const start = () =>
    readConfig({
      NODE_ENV: 'production',
      SESSION_KEYS: 'k'.repeat(32),
      RECEIPT_KEY: Buffer.alloc(32, 7).toString('base64'),
      PUBLIC_URL: 'https://coinop.test',
      [variable]: value,
    });
  expect(start).toThrow(variable);
  expect(start).not.toThrow(value);
});
