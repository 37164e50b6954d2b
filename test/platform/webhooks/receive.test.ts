import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { fail } from '#lib/errors.ts';
import { statement } from '#platform/db/sql.ts';
import { openApi } from '#platform/http/openapi/document.ts';
import { route } from '#platform/http/route.ts';
import { job } from '#platform/jobs/job.ts';
import type { WebhookSource } from '#platform/webhooks/config.ts';
import { Acknowledged, acknowledged } from '#platform/webhooks/receive.ts';
import { asOwner } from '#test/support/database.ts';
import { readResponse, startTestServer, type TestServer } from '#test/support/http/framework.ts';
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

const testJob = job({ name: 'test-process-webhook', queue: 'maintenance', payload: z.strictObject({ source: z.string(), id: z.string() }) });
const hook = (source: WebhookSource) =>
  route({
    method: 'post',
    path: `/webhooks/${source}`,
    auth: { webhook: source },
    summary: 'Receives a delivery',
    body: z.looseObject({ name: z.string().optional() }),
    returns: { 200: Acknowledged },
    fails: [404],
    handler: ({ delivery, body, once }) =>
      once(async (tx) => {
        tx.enqueue(testJob, delivery);
        await tx.query(insertEffect, [body.name ?? delivery.id]);
        if (body.pause) await tx.query(pause, [body.pause]);
        if (body.refuse) throw fail(404, 'no such payment');
        if (body.break) throw new Error('a bug');
        return acknowledged();
      }),
  });
const routes = [hook('payment-status'), hook('x')];

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(routes, { env: { WEBHOOK_SECRET_PAYMENT_STATUS: `${NEW_SECRET},${OLD_SECRET}`, WEBHOOK_SECRET_X: X_SECRET } });
  await asOwner(server.app, (tx) => tx.query({ text: 'create table effects (name text not null)' }));
});
afterAll(() => server.close());

const nowSec = () => Math.floor(server.app.clock.now().getTime() / 1_000);
const signed = (id: string, body: string | Buffer, { secret = NEW_SECRET, at = nowSec() }: { secret?: string; at?: number | string } = {}) =>
  standardHeaders(secret, id, at, body);
const send = (headers: Record<string, string>, body: string | Buffer, source: WebhookSource = 'payment-status') =>
  deliver(server, source, headers, body);

const rowOf = async (id: string, source: WebhookSource = 'payment-status') => (await server.app.db.query(findDelivery, [source, id]))[0];
const effectsOf = async (name: string) => (await server.app.db.query(countEffects, [name]))[0]?.n;
const enqueuedJobs = async (id: string) =>
  ((await server.app.queues.all.get('maintenance')?.getJobs()) ?? []).filter(({ data }) => JSON.stringify(data).includes(id)).length;

const RECEIVED = { status: 200, body: { received: true } };

test('a signed delivery is stored byte for byte, its job is enqueued, and it is acknowledged', async () => {
  const id = randomUUID();
  const body = `{ "name":  "${id}",\r\n "amount": 1.0e2, "unknown": "\\u00e9 é" }\n`;
  expect(await readResponse(await send(signed(id, body), body))).toEqual(RECEIVED);
  const row = await rowOf(id);
  expect(row?.body.toString('utf8')).toBe(body);
  expect(row?.body_hash.toString('hex')).toBe(hashOf(body));
  expect([row?.state, row?.attempts, await effectsOf(id), await enqueuedJobs(id)]).toEqual(['received', 0, 1, 1]);
});

test('a repeated delivery is acknowledged without effect, also with another secret or timestamp', async () => {
  const id = randomUUID();
  const body = JSON.stringify({ name: id });
  for (const options of [{}, { at: nowSec() - 60 }, { secret: OLD_SECRET }]) {
    expect(await readResponse(await send(signed(id, body, options), body))).toEqual(RECEIVED);
  }
  expect([await effectsOf(id), await enqueuedJobs(id)]).toEqual([1, 1]);
});

test('twenty concurrent copies of a delivery have one effect and are all acknowledged', async () => {
  const id = randomUUID();
  const body = JSON.stringify({ name: id });
  const answers = await Promise.all(Array.from({ length: 20 }, async () => readResponse(await send(signed(id, body), body))));
  expect(answers).toEqual(Array.from({ length: 20 }, () => RECEIVED));
  expect([await effectsOf(id), await enqueuedJobs(id)]).toEqual([1, 1]);
});

test('a copy that waits more than two seconds for the first one gets a 503 with Retry-After', async () => {
  const id = randomUUID();
  const body = JSON.stringify({ name: id, pause: 3 });
  const answers = await Promise.all([send(signed(id, body), body), send(signed(id, body), body)]);
  expect(answers.map(({ status, headers }) => [status, headers.get('Retry-After')]).sort()).toEqual([
    [200, null],
    [503, '1'],
  ]);
  expect(await readResponse(await send(signed(id, body), body))).toEqual(RECEIVED);
  expect(await effectsOf(id)).toBe(1);
});

test('an id that was delivered with another body gets a 409, and the first body stays', async () => {
  const id = randomUUID();
  expect(await readResponse(await send(signed(id, '{"amount":1}'), '{"amount":1}'))).toEqual(RECEIVED);
  expect(await readResponse(await send(signed(id, '{"amount":2}'), '{"amount":2}'))).toEqual({
    status: 409,
    body: { error: 'webhook-id was used before with another body' },
  });
  expect((await rowOf(id))?.body.toString()).toBe('{"amount":1}');
  expect(await effectsOf(id)).toBe(1);
});

test.each([
  ['refuse', 404, 'no such payment'],
  ['break', 500, 'internal server error'],
])('when the handler throws (%s), nothing is stored and no job is enqueued, so the delivery can be sent again', async (how, status, error) => {
  const id = randomUUID();
  const body = JSON.stringify({ name: id, [how]: true });
  for (let time = 0; time < 2; time++) {
    expect(await readResponse(await send(signed(id, body), body))).toEqual({ status, body: { error } });
  }
  expect([await rowOf(id), await effectsOf(id), await enqueuedJobs(id)]).toEqual([undefined, 0, 0]);
});

test('a signed delivery with an invalid body gets a 400 and is not stored', async () => {
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
    expect(await readResponse(await send(signed(id, body), body))).toEqual({ status: 400, body: { error } });
    expect(await rowOf(id)).toBeUndefined();
  }
});

test('a delivery without a JSON content type, or with a content encoding, gets a 415', async () => {
  const id = randomUUID();
  expect(await readResponse(await send({ ...signed(id, '{}'), 'Content-Type': 'text/plain' }, '{}'))).toEqual({
    status: 415,
    body: { error: 'Content-Type must be application/json' },
  });
  expect(await readResponse(await send({ ...signed(id, '{}'), 'Content-Encoding': 'gzip' }, '{}'))).toMatchObject({ status: 415 });
  expect((await send({ ...signed(id, '{}'), 'Content-Type': 'application/json; charset=utf-8' }, '{}')).status).toBe(200);
});

test('a delivery above 256 KB gets a 413', async () => {
  const bodyOf = (bytes: number) => JSON.stringify({ text: 'x'.repeat(bytes - '{"text":""}'.length) });
  const [full, larger] = [bodyOf(262_144), bodyOf(262_145)];
  expect(await readResponse(await send(signed(randomUUID(), full), full))).toEqual(RECEIVED);
  expect(await readResponse(await send(signed(randomUUID(), larger), larger))).toEqual({
    status: 413,
    body: { error: 'the body must be at most 262144 bytes' },
  });
});

test('a delivery is accepted from any origin', async () => {
  const id = randomUUID();
  expect((await send({ ...signed(id, '{}'), Origin: 'https://elsewhere.example' }, '{}')).status).toBe(200);
});

test('a delivery of X has the hash of its body as its id, and a repeated one has no effect', async () => {
  const name = randomUUID();
  const body = `{"name": "${name}"}`;
  for (let time = 0; time < 2; time++) expect(await readResponse(await send(xHeaders(X_SECRET, body), body, 'x'))).toEqual(RECEIVED);
  expect((await rowOf(hashOf(body), 'x'))?.body.toString()).toBe(body);
  expect(await effectsOf(name)).toBe(1);
});

test('a signed body of X that is not an object gets a 400, because it may be the response to a challenge', async () => {
  for (const body of ['123', '"abc"', 'true', '[{}]', 'null']) {
    expect(await readResponse(await send(xHeaders(X_SECRET, body), body, 'x'))).toEqual({
      status: 400,
      body: { error: 'the body must be a JSON object' },
    });
    expect(await rowOf(hashOf(body), 'x')).toBeUndefined();
  }
});

test('the OpenAPI document lists the signature scheme and the error statuses of each source', () => {
  const { paths, components } = openApi(server.app.config, routes);
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
