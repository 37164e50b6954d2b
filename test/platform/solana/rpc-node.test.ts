import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { HttpError } from '#lib/errors.ts';
import { RpcNode } from '#platform/solana/rpc-node.ts';

/** The responses of the RPC node, in their order. */
let responses: { readonly status?: number; readonly body: unknown }[];
const server = createServer((request, response) => {
  request.resume();
  const { status = 200, body } = responses.shift() ?? { status: 500, body: {} };
  response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '0' }).end(typeof body === 'string' ? body : JSON.stringify(body));
});
let url: string;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => void server.close());
beforeEach(() => {
  responses = [];
});

const statuses = { context: { slot: 7 }, value: [null] };
const read = (node = new RpcNode(url)) => node.statuses(['a'], { searchHistory: false });

test('an error of the RPC node about the request is thrown with its code, and not reported as an outage', async () => {
  responses = [{ body: { jsonrpc: '2.0', id: '1', error: { code: -32602, message: 'Invalid param' } } }];
  const error: unknown = await read().catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: -32602, message: 'getSignatureStatuses: Invalid param' });
  expect(error).not.toBeInstanceOf(HttpError);
});

test('a result with the error null, or an error with the result null, is understood', async () => {
  responses = [{ body: { result: statuses, error: null } }, { body: { result: null, error: { code: -32601, message: 'Method not found' } } }];
  expect(await read()).toEqual({ slot: 7, statuses: [null] });
  await expect(read()).rejects.toMatchObject({ code: -32601 });
});

test.each([
  ['the code of a node that lags behind', { body: { error: { code: -32016, message: 'Minimum context slot has not been reached' } } }],
  ['neither a result nor an error', { body: { jsonrpc: '2.0', id: '1' } }],
  ['a result of another form', { body: { result: { value: [] } } }],
  ['a body that is cut off', { body: '{"jsonrpc":"2.0","result":{"context":{"slot":7}' }],
  ['a web page', { body: '<html></html>' }],
  ['the status 429', { status: 429, body: 'slow down' }],
  ['the status 503', { status: 503, body: '' }],
])('a response with %s is an outage of the RPC node', async (_what, response) => {
  responses = [response];
  await expect(read()).rejects.toMatchObject({ status: 503 });
});

test('a request is repeated when the RPC node limits the rate, if the caller of the RPC node asks for it', async () => {
  responses = [{ status: 429, body: 'slow down' }, { body: { result: statuses } }];
  expect(await read(new RpcNode(url, { retriesRateLimit: true }))).toEqual({ slot: 7, statuses: [null] });
});
