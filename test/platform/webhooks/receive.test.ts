import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import type { WebhookSource } from '#config';
import { fail } from '#lib/errors.ts';
import { statement } from '#platform/db/sql.ts';
import { openApi } from '#platform/http/openapi/document.ts';
import { route } from '#platform/http/route.ts';
import { job } from '#platform/jobs/job.ts';
import { Acknowledged, acknowledged } from '#platform/webhooks/receive.ts';
import { answerOf, type Kit, startKit } from '#test/support/http/framework.ts';
import { createSecret, deliver, hashOf, standardHeaders, xHeaders } from '#test/support/http/webhook.ts';

const NEW_SECRET = createSecret();
const OLD_SECRET = createSecret(24);
const X_SECRET = 'consumer-secret-of-x-0123456789';

const insertEffect = statement('test_insert_webhook_effect', 'insert into effects (name) values ($1)');
const countEffects = statement<{ n: number }>('test_count_webhook_effects', 'select count(*)::int as n from effects where name = $1');
const findDelivery = statement<{ body: Buffer; body_hash: Buffer; state: string; attempts: number }>(
  'test_find_delivery',
  'select body, body_hash, state, attempts from webhook_deliveries where source = $1 and id = $2',
);

const pause = statement('test_pause_webhook', 'select pg_sleep($1)');

const workDelivery = job({ name: 'test-work-delivery', queue: 'upkeep', payload: z.strictObject({ source: z.string(), id: z.string() }) });
const hook = (source: WebhookSource) =>
  route({
    method: 'post',
    path: `/webhooks/${source}`,
    auth: { webhook: source },
    summary: 'Takes a delivery',
    body: z.looseObject({ name: z.string().optional() }),
    returns: { 200: Acknowledged },
    fails: [404],
    handler: ({ delivery, body, once }) =>
      once(async (tx) => {
        tx.enqueue(workDelivery, delivery);
        await tx.query(insertEffect, [body.name ?? delivery.id]);
        if (body.pause) await tx.query(pause, [body.pause]);
        if (body.refuse) throw fail(404, 'no such payment');
        if (body.break) throw new Error('a bug');
        return acknowledged();
      }),
  });
const routes = [hook('payment-status'), hook('x')];

let kit: Kit;
beforeAll(async () => {
  kit = await startKit(routes, { env: { WEBHOOK_SECRET_PAYMENT_STATUS: `${NEW_SECRET},${OLD_SECRET}`, WEBHOOK_SECRET_X: X_SECRET } });
  await kit.app.tx((tx) => tx.query({ text: 'create table effects (name text not null)' }));
});
afterAll(() => kit.close());

const nowSec = () => Math.floor(kit.app.clock.now().getTime() / 1_000);
const signed = (id: string, body: string | Buffer, { secret = NEW_SECRET, at = nowSec() }: { secret?: string; at?: number | string } = {}) =>
  standardHeaders(secret, id, at, body);
const send = (headers: Record<string, string>, body: string | Buffer, source: WebhookSource = 'payment-status') =>
  deliver(kit, source, headers, body);

const rowOf = async (id: string, source: WebhookSource = 'payment-status') => (await kit.app.db.query(findDelivery, [source, id]))[0];
const effectsOf = async (name: string) => (await kit.app.db.query(countEffects, [name]))[0]?.n;
const rung = async (id: string) =>
  ((await kit.app.queues.all.get('upkeep')?.getJobs()) ?? []).filter(({ data }) => JSON.stringify(data).includes(id)).length;

const RECEIVED = { status: 200, body: { received: true } };

test('a signed delivery is stored byte for byte, its job rung, and acknowledged', async () => {
  const id = randomUUID();
  const body = `{ "name":  "${id}",\r\n "amount": 1.0e2, "unknown": "\\u00e9 é" }\n`;
  expect(await answerOf(await send(signed(id, body), body))).toEqual(RECEIVED);
  const row = await rowOf(id);
  expect(row?.body.toString('utf8')).toBe(body);
  expect(row?.body_hash.toString('hex')).toBe(hashOf(body));
  expect([row?.state, row?.attempts, await effectsOf(id), await rung(id)]).toEqual(['received', 0, 1, 1]);
});

test('the same again is acknowledged, whoever it is signed by and when, and does nothing', async () => {
  const id = randomUUID();
  const body = JSON.stringify({ name: id });
  for (const options of [{}, { at: nowSec() - 60 }, { secret: OLD_SECRET }]) {
    expect(await answerOf(await send(signed(id, body, options), body))).toEqual(RECEIVED);
  }
  expect([await effectsOf(id), await rung(id)]).toEqual([1, 1]);
});

test('twenty at once are one delivery', async () => {
  const id = randomUUID();
  const body = JSON.stringify({ name: id });
  const answers = await Promise.all(Array.from({ length: 20 }, async () => answerOf(await send(signed(id, body), body))));
  expect(answers).toEqual(Array.from({ length: 20 }, () => RECEIVED));
  expect([await effectsOf(id), await rung(id)]).toEqual([1, 1]);
});

test('who waits longer than two seconds for the first is told to come again', async () => {
  const id = randomUUID();
  const body = JSON.stringify({ name: id, pause: 3 });
  const answers = await Promise.all([send(signed(id, body), body), send(signed(id, body), body)]);
  expect(answers.map(({ status, headers }) => [status, headers.get('Retry-After')]).sort()).toEqual([
    [200, null],
    [503, '1'],
  ]);
  expect(await answerOf(await send(signed(id, body), body))).toEqual(RECEIVED);
  expect(await effectsOf(id)).toBe(1);
});

test('the same id with another body is 409, and the first one stays', async () => {
  const id = randomUUID();
  expect(await answerOf(await send(signed(id, '{"amount":1}'), '{"amount":1}'))).toEqual(RECEIVED);
  expect(await answerOf(await send(signed(id, '{"amount":2}'), '{"amount":2}'))).toEqual({
    status: 409,
    body: { error: 'webhook-id was delivered before with another body' },
  });
  expect((await rowOf(id))?.body.toString()).toBe('{"amount":1}');
  expect(await effectsOf(id)).toBe(1);
});

test.each([
  ['refuse', 404, 'no such payment'],
  ['break', 500, 'internal server error'],
])('when its handler fails (%s) nothing is stored and nothing rung: it may come again', async (how, status, error) => {
  const id = randomUUID();
  const body = JSON.stringify({ name: id, [how]: true });
  for (let time = 0; time < 2; time++) {
    expect(await answerOf(await send(signed(id, body), body))).toEqual({ status, body: { error } });
  }
  expect([await rowOf(id), await effectsOf(id), await rung(id)]).toEqual([undefined, 0, 0]);
});

test('a signed body that the route cannot take is refused, and not stored', async () => {
  const cases: [string | Buffer, string][] = [
    ['{"name":', 'the body must be valid JSON'],
    ['[]', 'the body must be a JSON object'],
    ['null', 'the body must be a JSON object'],
    ['"text"', 'the body must be a JSON object'],
    ['', 'the body must be a JSON object'],
    [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), 'the body must be UTF-8'],
    ['{"name":1}', 'name must be text'],
  ];
  for (const [body, error] of cases) {
    const id = randomUUID();
    expect(await answerOf(await send(signed(id, body), body))).toEqual({ status: 400, body: { error } });
    expect(await rowOf(id)).toBeUndefined();
  }
});

test('a delivery must be JSON by its content type', async () => {
  const id = randomUUID();
  expect(await answerOf(await send({ ...signed(id, '{}'), 'Content-Type': 'text/plain' }, '{}'))).toEqual({
    status: 415,
    body: { error: 'Content-Type must be application/json' },
  });
  expect(await answerOf(await send({ ...signed(id, '{}'), 'Content-Encoding': 'gzip' }, '{}'))).toMatchObject({ status: 415 });
  expect((await send({ ...signed(id, '{}'), 'Content-Type': 'application/json; charset=utf-8' }, '{}')).status).toBe(200);
});

test('a delivery is at most 256 KB', async () => {
  const bodyOf = (bytes: number) => JSON.stringify({ text: 'x'.repeat(bytes - '{"text":""}'.length) });
  const [full, larger] = [bodyOf(262_144), bodyOf(262_145)];
  expect(await answerOf(await send(signed(randomUUID(), full), full))).toEqual(RECEIVED);
  expect(await answerOf(await send(signed(randomUUID(), larger), larger))).toEqual({
    status: 413,
    body: { error: 'the body must be at most 262144 bytes' },
  });
});

test('a delivery comes from anywhere: no origin is asked for', async () => {
  const id = randomUUID();
  expect((await send({ ...signed(id, '{}'), Origin: 'https://elsewhere.example' }, '{}')).status).toBe(200);
});

test('X signs the body, and its hash is the id: the same again does nothing', async () => {
  const name = randomUUID();
  const body = `{"name": "${name}"}`;
  for (let time = 0; time < 2; time++) expect(await answerOf(await send(xHeaders(X_SECRET, body), body, 'x'))).toEqual(RECEIVED);
  expect((await rowOf(hashOf(body), 'x'))?.body.toString()).toBe(body);
  expect(await effectsOf(name)).toBe(1);
});

test('what X signs but is no object is refused: it may be the answer to a challenge', async () => {
  for (const body of ['123', '"abc"', 'true', '[{}]', 'null']) {
    expect(await answerOf(await send(xHeaders(X_SECRET, body), body, 'x'))).toEqual({
      status: 400,
      body: { error: 'the body must be a JSON object' },
    });
    expect(await rowOf(hashOf(body), 'x')).toBeUndefined();
  }
});

test('the document says how each source signs, and what is refused', () => {
  const { paths, components } = openApi(kit.app.config, routes);
  const [payments, x] = [paths?.['/webhooks/payment-status']?.post, paths?.['/webhooks/x']?.post];
  expect([payments?.security, x?.security]).toEqual([[{ webhook: [] }], [{ webhookX: [] }]]);
  expect(Object.keys(components?.securitySchemes ?? {})).toEqual(expect.arrayContaining(['webhook', 'webhookX', 'basic']));
  expect(Object.keys(payments?.responses ?? {})).toEqual(['200', '400', '401', '404', '409', '413', '415', '429', '500', '503']);
  expect(payments?.parameters?.map((parameter) => 'name' in parameter && [parameter.name, parameter.required])).toEqual([
    ['webhook-id', true],
    ['webhook-timestamp', true],
  ]);
  expect(x?.parameters ?? []).toEqual([]);
});
