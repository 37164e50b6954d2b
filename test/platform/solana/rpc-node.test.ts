import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { HttpError } from '#lib/errors.ts';
import { RpcNode } from '#platform/solana/rpc-node.ts';
import { SYSTEM_PROGRAM } from '#platform/solana/system-program.ts';

/** A response of the RPC node. `isCut`: the connection is lost before the end of the body. */
interface NodeResponse {
  readonly status?: number;
  readonly body: unknown;
  readonly isCut?: boolean;
}
/** Options of a request that the RPC node checks. */
interface RequestOptions {
  readonly minContextSlot?: number;
  readonly maxSupportedTransactionVersion?: number;
}

/** The responses of the RPC node, in their order. Each one may depend on the options of the request. */
let responses: (NodeResponse | ((options: RequestOptions) => NodeResponse))[];
const server = createServer(async (request, response) => {
  const { params = [] } = (await json(request)) as { params?: [unknown?, RequestOptions?] };
  const next = responses.shift() ?? { status: 500, body: {} };
  const { status = 200, body, isCut } = typeof next === 'function' ? next(params[1] ?? {}) : next;
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '0', 'content-length': Buffer.byteLength(text) });
  if (isCut) response.write(text.slice(0, -1), () => response.destroy());
  else response.end(text);
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

/** The response of an RPC node with a result, or with an error. */
const resultOf = (result: unknown): NodeResponse => ({ body: { jsonrpc: '2.0', id: '1', result } });
const errorOf = (code: number): NodeResponse => ({ body: { jsonrpc: '2.0', id: '1', error: { code, message: 'a reason' } } });
const RATE_LIMITED: NodeResponse = { status: 429, body: 'slow down' };

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

test.each<[string, NodeResponse]>([
  ...[-32004, -32005, -32007, -32014, -32015, -32016, -32603].map((code): [string, NodeResponse] => [`the code ${code}`, errorOf(code)]),
  ['neither a result nor an error', { body: { jsonrpc: '2.0', id: '1' } }],
  ['a result of another form', { body: { result: { value: [] } } }],
  ['a body that is cut off', { body: '{"jsonrpc":"2.0","result":{"context":{"slot":7}' }],
  ['a body whose connection is lost', { body: { result: statuses }, isCut: true }],
  ['a web page', { body: '<html></html>' }],
  ['the status 429', RATE_LIMITED],
  ['the status 503', { status: 503, body: '' }],
])(
  'a response with %s is an outage of the RPC node',
  async (_what, response) => {
    responses = [response];
    await expect(read()).rejects.toMatchObject({ status: 503 });
  },
  2_000,
);

test.each<[string, (node: RpcNode) => Promise<unknown>]>([
  ['a rent', (node) => node.rentOf(165)],
  ['the hash of the genesis block', (node) => node.genesisHash()],
])('%s of another type is an outage of the RPC node', async (_what, readWrong) => {
  responses = [resultOf({ unexpected: true })];
  await expect(readWrong(new RpcNode(url))).rejects.toMatchObject({ status: 503 });
});

test('a request is repeated when the RPC node limits the rate, only if the caller of the RPC node asks for it', async () => {
  responses = [RATE_LIMITED, resultOf(statuses)];
  expect(await read(new RpcNode(url, { retriesRateLimit: true }))).toEqual({ slot: 7, statuses: [null] });
  responses = [RATE_LIMITED, resultOf('a-hash')];
  const node = new RpcNode(url);
  await expect(node.genesisHash()).rejects.toMatchObject({ status: 503 });
  expect(await node.genesisHash()).toBe('a-hash');
});

test('accounts are not read from an RPC node that has not reached the slot that the caller has seen', async () => {
  const atSlot7 = ({ minContextSlot = 0 }: RequestOptions) =>
    minContextSlot > 7 ? errorOf(-32016) : resultOf({ context: { slot: 7 }, value: [null] });
  responses = [atSlot7, atSlot7, atSlot7];
  const accounts = (minContextSlot?: number) => new RpcNode(url).accounts([SYSTEM_PROGRAM], 'finalized', minContextSlot);
  expect(await accounts()).toEqual({ slot: 7, accounts: [null] });
  expect(await accounts(7)).toEqual({ slot: 7, accounts: [null] });
  await expect(accounts(8)).rejects.toMatchObject({ status: 503 });
});

test('a transaction of a version that cannot be decoded is not fetched', async () => {
  responses = [({ maxSupportedTransactionVersion = 0 }) => (maxSupportedTransactionVersion < 2 ? errorOf(-32015) : resultOf(null))];
  await expect(new RpcNode(url).transaction('a', 'finalized')).rejects.toMatchObject({ status: 503 });
});

test('a nonce account that does not exist has no nonce', async () => {
  responses = [resultOf({ context: { slot: 7 }, value: null })];
  expect(await new RpcNode(url).nonce(SYSTEM_PROGRAM)).toEqual({ slot: 7, value: null });
});

test('the hash of the block before a block is null when the RPC node has no block of the slot', async () => {
  const block = { blockhash: 'own', previousBlockhash: 'previous', parentSlot: 8, blockHeight: 8, blockTime: 77 };
  responses = [resultOf(block), resultOf(null), ...[-32001, -32004, -32007, -32009].map(errorOf), errorOf(-32005)];
  const node = new RpcNode(url);
  expect(await node.previousBlockhash(9)).toBe('previous');
  for (const _ of [1, 2, 3, 4, 5]) expect(await node.previousBlockhash(9)).toBeNull();
  await expect(node.previousBlockhash(9)).rejects.toMatchObject({ status: 503 });
});
