import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerBeacon } from './beacon/beacon-routes.ts';
import type { FaultRule } from './control/commands.ts';
import { CommandError, runCommand } from './control/control-routes.ts';
import type { LocalnetServices } from './control/services.ts';
import type { HttpReply } from './http-reply.ts';
import { emptyBatchResponse, handleCall, parseErrorResponse, type RpcCall, readCall } from './rpc/dispatch.ts';
import type { Node } from './rpc/node.ts';

/** Maximum size of a request body, bytes. A batch of 1,000 transactions of maximum size is smaller. */
const MAX_BODY_BYTES = 8 * 1024 * 1024;
const MAX_BATCH_CALLS = 1_000;
/**
 * Idle timeout of connections, ms. It is longer than the idle timeout of clients, so that the server never closes a connection that a client is about
 * to use again.
 */
const KEEP_ALIVE_MS = 75_000;

/** A running server. */
export interface Listener {
  readonly url: string;
  close(): Promise<void>;
}

/** Starts the HTTP server for the first RPC node, the control endpoint, the faucet and the beacon. */
export const serve = (services: LocalnetServices, host: string, port: number): Promise<Listener> =>
  listen((request) => handle(services, request), host, port);

/** Starts the HTTP server of the second RPC node, which serves only JSON-RPC. */
export const serveSecond = (services: LocalnetServices, host: string, port: number): Promise<Listener> =>
  listen((request) => handleSecond(services, request), host, port);

async function listen(answer: (request: IncomingMessage) => Promise<HttpReply>, host: string, port: number): Promise<Listener> {
  const server = createServer((request, response) => {
    answer(request).then(
      (done) => send(response, done),
      (error: unknown) => send(response, { status: 500, body: { error: messageOf(error) } }),
    );
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const { port: chosen } = server.address() as AddressInfo;
  return { url: `http://${host}:${chosen}`, close: () => close(server) };
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** Headers that let web pages of every origin read a response, as the RPC nodes of clusters send them. The control endpoint and the faucet have none. */
const FOR_PAGES = { 'access-control-allow-origin': '*', 'access-control-allow-headers': 'content-type', 'access-control-allow-methods': 'GET, POST' };

async function handle(services: LocalnetServices, request: IncomingMessage): Promise<HttpReply> {
  const path = (request.url ?? '/').split('?')[0]?.replace(/\/+$/, '') ?? '';
  if (path !== '' && path !== '/second' && !path.startsWith('/beacon')) return await answer(services, request, path);
  if (request.method === 'OPTIONS') return { status: 200, body: '', headers: FOR_PAGES };
  const reply = await answer(services, request, path);
  return reply === 'cut' ? reply : { ...reply, headers: { ...reply.headers, ...FOR_PAGES } };
}

async function answer(services: LocalnetServices, request: IncomingMessage, path: string): Promise<HttpReply> {
  if (request.method === 'GET' && path.startsWith('/beacon'))
    return answerBeacon(services.beacon, () => services.chain.clock.now, path.slice('/beacon'.length));
  if (request.method === 'GET' && path === '/health') return { status: 200, body: 'ok' };
  const body = await readBody(request);
  if (request.method !== 'POST') return errorReply(405, 'this path supports only POST');
  if (body === null) return errorReply(413, `the body is larger than ${MAX_BODY_BYTES} bytes`);
  const json = parseJson(body);
  if (path === '') return handleRpc(services, services.first, json);
  if (path === '/second') return handleRpc(services, services.second, json);
  if (path === '/faucet' || path.startsWith('/control/')) return handleCommand(services, path, json);
  return errorReply(404, 'no such path');
}

async function handleSecond(services: LocalnetServices, request: IncomingMessage): Promise<HttpReply> {
  const body = await readBody(request);
  if (request.method !== 'POST') return errorReply(405, 'this path supports only POST');
  if (body === null) return errorReply(413, `the body is larger than ${MAX_BODY_BYTES} bytes`);
  return handleRpc(services, services.second, parseJson(body));
}

const errorReply = (status: number, error: string): HttpReply => ({ status, body: { error } });

async function handleCommand(services: LocalnetServices, path: string, json: Json): Promise<HttpReply> {
  if (!json.ok) return errorReply(400, 'the body must be JSON');
  try {
    const body = path === '/faucet' ? await services.faucet(json.value) : runCommand(services, path.slice('/control/'.length), json.value);
    return { status: 200, body };
  } catch (error) {
    return errorReply(error instanceof CommandError ? 400 : 500, messageOf(error));
  }
}

/** Handles a JSON-RPC request or batch. Active faults may delay the response or replace it. */
async function handleRpc({ faults }: LocalnetServices, node: Node, json: Json): Promise<HttpReply> {
  if (!json.ok) return { status: 200, body: parseErrorResponse };
  const calls: RpcCall[] = (Array.isArray(json.value) ? json.value : [json.value]).map(readCall);
  if (calls.length === 0) return { status: 200, body: emptyBatchResponse };
  if (calls.length > MAX_BATCH_CALLS) return errorReply(413, `the batch has more than ${MAX_BATCH_CALLS} calls`);
  const seen = calls.filter((call) => call.ok);
  const delay = faults.firstForCalls(['delay'], node, seen);
  if (delay) await sleep(delay.ms ?? 1_000);
  const methods = seen.map(({ method }) => method);
  if (!node.limit.take(methods, performance.now())) return faultReply({ kind: 'rateLimit' });
  const refused = faults.firstForCalls(['rateLimit', 'fail', 'cut'], node, seen);
  if (refused) return faultReply(refused);
  const answers = calls.map((call) => handleCall(node, call));
  const lost = faults.firstForCalls(['loseReply'], node, seen);
  if (lost) return faultReply(lost);
  return { status: 200, body: Array.isArray(json.value) ? answers : (answers[0] ?? {}) };
}

/** Returns the reply that a fault sends instead of the JSON-RPC response. */
function faultReply({ kind, status, retryAfter }: FaultRule): HttpReply {
  if (kind === 'rateLimit') {
    const body = { jsonrpc: '2.0', error: { code: 429, message: 'Too many requests' }, id: null };
    return { status: 429, body, headers: { 'retry-after': String(retryAfter ?? 1) } };
  }
  if (kind === 'cut' || (kind === 'loseReply' && status === undefined)) return 'cut';
  return { status: status ?? 503, body: 'Service unavailable' };
}

function send(response: ServerResponse, reply: HttpReply): void {
  if (reply === 'cut') response.socket?.destroy();
  if (reply === 'cut' || response.destroyed) return;
  const { status, body, headers } = reply;
  const plain = typeof body === 'string';
  const text = plain ? body : JSON.stringify(body);
  const own = { 'content-type': plain ? 'text/plain' : 'application/json', 'content-length': Buffer.byteLength(text) };
  response.writeHead(status, { ...own, ...headers });
  response.end(text);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown';
}

type Json = { readonly ok: true; readonly value: unknown } | { readonly ok: false };

function parseJson(body: Buffer): Json {
  try {
    return { ok: true, value: JSON.parse(body.toString('utf8')) };
  } catch {
    return { ok: false };
  }
}

/** Reads the body of a request. Returns null if the body is too large; the rest of the body is then read and discarded. */
async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    if (length <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  return length <= MAX_BODY_BYTES ? Buffer.concat(chunks) : null;
}
