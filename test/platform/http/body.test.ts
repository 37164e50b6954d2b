import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { reply, route } from '#platform/http/route.ts';
import { answerOf, type Kit, sendRaw, startKit } from '#test/support/http/framework.ts';

const Order = z.strictObject({
  name: z.string().min(2).max(10).optional(),
  count: z.int().min(1).max(5).optional(),
  kind: z.enum(['big', 'small']).optional(),
  isOpen: z.boolean().optional(),
  lines: z
    .array(z.strictObject({ price: z.number() }))
    .max(2)
    .optional(),
  target: z.union([z.int(), z.strictObject({ id: z.int() })]).optional(),
  shape: z
    .discriminatedUnion('type', [z.strictObject({ type: z.literal('circle'), r: z.int() }), z.strictObject({ type: z.literal('dot') })])
    .optional(),
  note: z
    .string()
    .regex(/^[a-z]+$/, 'must be lower-case letters')
    .optional(),
});

const orders = route({
  method: 'post',
  path: '/orders',
  auth: 'public',
  summary: 'Takes an order',
  body: Order,
  returns: { 200: z.json() },
  fails: [],
  handler: async ({ body }) => reply(200, JSON.parse(JSON.stringify(body))),
});
const free = route({
  method: 'put',
  path: '/free',
  auth: 'public',
  summary: 'Takes any JSON',
  body: z.record(z.string(), z.json()),
  returns: { 200: z.json() },
  fails: [],
  handler: async ({ body }) => reply(200, body),
});
const needed = route({
  method: 'post',
  path: '/needed',
  auth: 'public',
  summary: 'Needs a wallet',
  body: z.strictObject({ wallet: z.string() }),
  returns: { 200: z.json() },
  fails: [],
  handler: async ({ body }) => reply(200, body),
});
const bare = route({
  method: 'post',
  path: '/bare',
  auth: 'public',
  summary: 'Has no body',
  returns: { 204: null },
  fails: [],
  handler: async () => reply(204, null),
});

let kit: Kit;
beforeAll(async () => {
  kit = await startKit([orders, free, needed, bare]);
});
afterAll(() => kit.close());

function send(body: RequestInit['body'], { path = '/orders', method = 'POST', type = 'application/json' } = {}): Promise<Response> {
  return fetch(`${kit.url}${path}`, { method, headers: { 'Content-Type': type }, body: body ?? null });
}
const refusalOf = async (body: unknown, path = '/orders') => answerOf(await send(JSON.stringify(body), { path }));

test('an empty body is {}, with a content type and without', async () => {
  expect(await answerOf(await send(''))).toEqual({ status: 200, body: {} });
  expect(await answerOf(await fetch(`${kit.url}/orders`, { method: 'POST' }))).toEqual({ status: 200, body: {} });
  const chunked = await sendRaw(kit.port, 'POST /orders HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n');
  expect(chunked).toMatch(/^HTTP\/1.1 200 .*\{\}$/s);
});

test.each([
  ['{"a":', 'the body must be valid JSON'],
  ['{"name":"a\u0000b"}', 'the body must be valid JSON'],
  ['{"name":"\\u0000"}', 'the body must not hold NUL characters or lone surrogates'],
  ['{"name":"\\ud800"}', 'the body must not hold NUL characters or lone surrogates'],
  ['{"\\udc00":1}', 'the body must not hold NUL characters or lone surrogates'],
  [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 'the body must be UTF-8'],
  [Buffer.from('{"name":"\xed\xa0\x80"}', 'latin1'), 'the body must be UTF-8'],
  [`${'['.repeat(65)}${']'.repeat(65)}`, 'the body must not be nested deeper than 64'],
  ['[]', 'the body must be an object'],
  ['null', 'the body must be an object'],
  ['7', 'the body must be an object'],
])('malformed bytes are 400: %j', async (bytes, error) => {
  expect(await answerOf(await send(bytes))).toEqual({ status: 400, body: { error } });
});

test('text that only looks like an escaped NUL, surrogate pairs and brackets in strings pass', async () => {
  const value = { a: '\\u0000', b: '😀', c: '['.repeat(100), d: '\\\\u0000', e: 'é' };
  expect(await answerOf(await send(JSON.stringify(value), { path: '/free', method: 'PUT' }))).toEqual({ status: 200, body: value });
});

test('__proto__ as a field reaches nobody', async () => {
  const declared = await answerOf(await send('{"__proto__":{"isAdmin":true}}'));
  expect(declared).toEqual({ status: 400, body: { error: '__proto__ is not a known field' } });
  const free = await answerOf(await send('{"__proto__":{"isAdmin":true},"a":1}', { path: '/free', method: 'PUT' }));
  expect(free).toEqual({ status: 200, body: { a: 1 } });
});

test.each([
  [{ unknown: 1 }, 'unknown is not a known field'],
  [{ lines: [{ price: 1, tax: 2 }] }, 'lines[0].tax is not a known field'],
  [{ name: 7 }, 'name must be text'],
  [{ name: 'a' }, 'name must be at least 2 characters long'],
  [{ name: 'abcdefghijk' }, 'name must be at most 10 characters long'],
  [{ count: '1' }, 'count must be a number'],
  [{ count: 1.5 }, 'count must be an integer'],
  [{ count: 0 }, 'count must be at least 1'],
  [{ count: 6 }, 'count must be at most 5'],
  [{ count: null }, 'count must be a number'],
  [{ kind: 'huge' }, 'kind must be one of big, small'],
  [{ isOpen: 'yes' }, 'isOpen must be true or false'],
  [{ lines: {} }, 'lines must be an array'],
  [{ lines: [{}] }, 'lines[0].price is required and must be a number'],
  [{ lines: [{ price: 1 }, { price: 1 }, { price: 1 }] }, 'lines must be at most 2 items long'],
  [{ target: 'x' }, 'target must be a number or an object'],
  [{ target: { id: 'x' } }, 'target.id must be a number'],
  [{ shape: { type: 'square' } }, 'shape.type must be one of circle, dot'],
  [{ shape: { type: 'circle' } }, 'shape.r is required and must be a number'],
  [{ note: 'A' }, 'note must be lower-case letters'],
])('a wrong field is named, with what it must be: %j', async (body, error) => {
  expect(await refusalOf(body)).toEqual({ status: 400, body: { error } });
});

test('a missing field is named as required', async () => {
  expect(await refusalOf({}, '/needed')).toEqual({ status: 400, body: { error: 'wallet is required and must be text' } });
});

test('an endless field name is not repeated to its sender', async () => {
  const { status, body } = await refusalOf({ ['x'.repeat(10_000)]: 1 });
  expect(status).toBe(400);
  expect(JSON.stringify(body).length).toBeLessThan(200);
});

test('a route without a body takes none but {}', async () => {
  expect((await send('{}', { path: '/bare' })).status).toBe(204);
  expect(await refusalOf({ a: 1 }, '/bare')).toEqual({ status: 400, body: { error: 'a is not a known field' } });
});

test.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'application/jsonp', 'text/json'])(
  'a body of type %s is 415',
  async (type) => {
    expect(await answerOf(await send('{}', { type }))).toEqual({ status: 415, body: { error: 'Content-Type must be application/json' } });
  },
);

test('JSON with parameters and suffixed JSON are taken', async () => {
  expect((await send('{}', { type: 'application/json; charset=utf-8' })).status).toBe(200);
  expect((await send('{}', { type: 'application/vnd.api+json' })).status).toBe(200);
});

test('a body without a content type is 415', async () => {
  const response = await sendRaw(kit.port, 'POST /orders HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}');
  expect(response).toMatch(/^HTTP\/1.1 415 /);
  const chunked = await sendRaw(kit.port, 'POST /orders HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n');
  expect(chunked).toMatch(/^HTTP\/1.1 415 /);
});

test.each(['gzip', 'br', 'deflate, gzip'])('a body encoded as %s is 415', async (encoding) => {
  const response = await fetch(`${kit.url}/orders`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Content-Encoding': encoding },
    body: '{}',
  });
  expect(await answerOf(response)).toEqual({ status: 415, body: { error: 'Content-Encoding must be identity' } });
});

const TOO_LARGE = { status: 413, body: { error: 'the body must be at most 262144 bytes' } };

test('a body past 256 KB is 413 when its size is announced', async () => {
  expect(await answerOf(await send(`{"name":"${'x'.repeat(300_000)}"}`))).toEqual(TOO_LARGE);
  const announced = await sendRaw(
    kit.port,
    'POST /orders HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 999999999\r\n\r\n{',
  );
  expect(announced).toMatch(/^HTTP\/1.1 413 /);
});

test('a body past 256 KB is 413 when it comes in chunks', async () => {
  const chunks = ReadableStream.from(Array.from({ length: 40 }, () => Buffer.alloc(16 * 1024, 0x20)));
  const response = await fetch(`${kit.url}/orders`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: chunks,
    duplex: 'half',
  });
  expect(await answerOf(response)).toEqual(TOO_LARGE);
});

test('a body of exactly 256 KB is read', async () => {
  const frame = '{"a":""}';
  const response = await send(`{"a":"${'x'.repeat(256 * 1024 - frame.length)}"}`, { path: '/free', method: 'PUT' });
  expect(response.status).toBe(200);
  await response.body?.cancel();
});

test('the connection is still good after a refused body', async () => {
  const large = `{"name":"${'x'.repeat(300_000)}"}`;
  const two =
    `POST /orders HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${large.length}\r\n\r\n${large}` +
    'POST /orders HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n';
  const answers = await sendRaw(kit.port, two, /HTTP\/1.1 413 .*HTTP\/1.1 200 .*\}$/s);
  expect(answers.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 413', 'HTTP/1.1 200']);
});
