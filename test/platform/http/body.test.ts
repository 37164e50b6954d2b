import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { reply, route } from '#platform/http/route.ts';
import { readResponse, sendRaw, startTestServer, type TestServer } from '#test/support/http/framework.ts';

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
  summary: 'Creates an order',
  body: Order,
  returns: { 200: z.json() },
  fails: [],
  handler: async ({ body }) => reply(200, JSON.parse(JSON.stringify(body))),
});
const free = route({
  method: 'put',
  path: '/free',
  auth: 'public',
  summary: 'Accepts any JSON',
  body: z.record(z.string(), z.json()),
  returns: { 200: z.json() },
  fails: [],
  handler: async ({ body }) => reply(200, body),
});
const needed = route({
  method: 'post',
  path: '/needed',
  auth: 'public',
  summary: 'Requires a wallet',
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

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer([orders, free, needed, bare]);
});
afterAll(() => server.close());

function send(body: RequestInit['body'], { path = '/orders', method = 'POST', type = 'application/json' } = {}): Promise<Response> {
  return fetch(`${server.url}${path}`, { method, headers: { 'Content-Type': type }, body: body ?? null });
}
const sendJson = async (body: unknown, path = '/orders') => readResponse(await send(JSON.stringify(body), { path }));

test('an empty body is parsed as {}, with and without a content type', async () => {
  expect(await readResponse(await send(''))).toEqual({ status: 200, body: {} });
  expect(await readResponse(await fetch(`${server.url}/orders`, { method: 'POST' }))).toEqual({ status: 200, body: {} });
  const chunked = await sendRaw(server.port, 'POST /orders HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n');
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
])('a body that is not valid JSON of an object gets a 400: %j', async (bytes, error) => {
  expect(await readResponse(await send(bytes))).toEqual({ status: 400, body: { error } });
});

test('escaped backslashes, surrogate pairs and brackets inside strings are accepted', async () => {
  const value = { a: '\\u0000', b: '😀', c: '['.repeat(100), d: '\\\\u0000', e: 'é' };
  expect(await readResponse(await send(JSON.stringify(value), { path: '/free', method: 'PUT' }))).toEqual({ status: 200, body: value });
});

test('a field __proto__ is rejected or removed', async () => {
  const declared = await readResponse(await send('{"__proto__":{"isAdmin":true}}'));
  expect(declared).toEqual({ status: 400, body: { error: '__proto__ is not a known field' } });
  const free = await readResponse(await send('{"__proto__":{"isAdmin":true},"a":1}', { path: '/free', method: 'PUT' }));
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
])('an invalid field gets a 400 with its path and its requirement: %j', async (body, error) => {
  expect(await sendJson(body)).toEqual({ status: 400, body: { error } });
});

test('a missing field gets a 400 that says it is required', async () => {
  expect(await sendJson({}, '/needed')).toEqual({ status: 400, body: { error: 'wallet is required and must be text' } });
});

test('a very long field name is shortened in the error sentence', async () => {
  const { status, body } = await sendJson({ ['x'.repeat(10_000)]: 1 });
  expect(status).toBe(400);
  expect(JSON.stringify(body).length).toBeLessThan(200);
});

test('a route without a body accepts only an empty object', async () => {
  expect((await send('{}', { path: '/bare' })).status).toBe(204);
  expect(await sendJson({ a: 1 }, '/bare')).toEqual({ status: 400, body: { error: 'a is not a known field' } });
});

test.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'application/jsonp', 'text/json'])(
  'a body with content type %s gets a 415',
  async (type) => {
    expect(await readResponse(await send('{}', { type }))).toEqual({ status: 415, body: { error: 'Content-Type must be application/json' } });
  },
);

test('JSON content types with parameters or a suffix are accepted', async () => {
  expect((await send('{}', { type: 'application/json; charset=utf-8' })).status).toBe(200);
  expect((await send('{}', { type: 'application/vnd.api+json' })).status).toBe(200);
});

test('a body without a content type gets a 415', async () => {
  const response = await sendRaw(server.port, 'POST /orders HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}');
  expect(response).toMatch(/^HTTP\/1.1 415 /);
  const chunked = await sendRaw(server.port, 'POST /orders HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n');
  expect(chunked).toMatch(/^HTTP\/1.1 415 /);
});

test.each(['gzip', 'br', 'deflate, gzip'])('a body with content encoding %s gets a 415', async (encoding) => {
  const response = await fetch(`${server.url}/orders`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Content-Encoding': encoding },
    body: '{}',
  });
  expect(await readResponse(response)).toEqual({ status: 415, body: { error: 'Content-Encoding must be identity' } });
});

const TOO_LARGE = { status: 413, body: { error: 'the body must be at most 262144 bytes' } };

test('a body above 256 KB with a Content-Length gets a 413', async () => {
  expect(await readResponse(await send(`{"name":"${'x'.repeat(300_000)}"}`))).toEqual(TOO_LARGE);
  const announced = await sendRaw(
    server.port,
    'POST /orders HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 999999999\r\n\r\n{',
  );
  expect(announced).toMatch(/^HTTP\/1.1 413 /);
});

test('a chunked body above 256 KB gets a 413', async () => {
  const chunks = ReadableStream.from(Array.from({ length: 40 }, () => Buffer.alloc(16 * 1024, 0x20)));
  const response = await fetch(`${server.url}/orders`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: chunks,
    duplex: 'half',
  });
  expect(await readResponse(response)).toEqual(TOO_LARGE);
});

test('a body of exactly 256 KB is accepted', async () => {
  const frame = '{"a":""}';
  const response = await send(`{"a":"${'x'.repeat(256 * 1024 - frame.length)}"}`, { path: '/free', method: 'PUT' });
  expect(response.status).toBe(200);
  await response.body?.cancel();
});

test('the connection can be used again after a rejected body', async () => {
  const large = `{"name":"${'x'.repeat(300_000)}"}`;
  const two =
    `POST /orders HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${large.length}\r\n\r\n${large}` +
    'POST /orders HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n';
  const answers = await sendRaw(server.port, two, /HTTP\/1.1 413 .*HTTP\/1.1 200 .*\}$/s);
  expect(answers.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 413', 'HTTP/1.1 200']);
});
