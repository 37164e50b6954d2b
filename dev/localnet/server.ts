import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerBeacon } from './beacon/beacon-routes.ts';
import { carryOut, OrderError } from './control/control-routes.ts';
import type { Fault } from './control/orders.ts';
import type { Node } from './node.ts';
import { answer, emptyBatch, parseError, type RpcCall, readCall } from './rpc/dispatch.ts';
import type { Reply, Served } from './served.ts';

/** More than the largest batch of full packets that anybody has reason to send. */
const MOST_BODY_BYTES = 8 * 1024 * 1024;
const MOST_CALLS = 1_000;
/** Longer than clients keep idle connections: none is closed just when it is used again. */
const KEEP_ALIVE_MS = 75_000;

/** Serves RPC, control, faucet and beacon on one port. */
export async function serve(served: Served, host: string, port: number): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    handle(served, request).then(
      (done) => send(response, done),
      (error: unknown) => send(response, { status: 500, body: { error: sentenceOf(error) } }),
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

async function handle(served: Served, request: IncomingMessage): Promise<Reply> {
  const path = (request.url ?? '/').split('?')[0]?.replace(/\/+$/, '') ?? '';
  if (request.method === 'GET' && path.startsWith('/beacon')) return answerBeacon(served, path.slice('/beacon'.length));
  if (request.method === 'GET' && path === '/health') return { status: 200, body: 'ok' };
  const body = await bodyOf(request);
  if (request.method !== 'POST') return refusal(405, 'only POST is served here');
  if (body === null) return refusal(413, `the body is larger than ${MOST_BODY_BYTES} bytes`);
  const json = jsonOf(body);
  if (path === '') return speak(served, served.first, json);
  if (path === '/second') return speak(served, served.second, json);
  if (path === '/faucet' || path.startsWith('/control/')) return obey(served, path, json);
  return refusal(404, 'no such path');
}

const refusal = (status: number, error: string): Reply => ({ status, body: { error } });

async function obey(served: Served, path: string, json: Json): Promise<Reply> {
  if (!json.ok) return refusal(400, 'the body is no JSON');
  try {
    const body = path === '/faucet' ? await served.faucet(json.value) : carryOut(served, path.slice('/control/'.length), json.value);
    return { status: 200, body };
  } catch (error) {
    return refusal(error instanceof OrderError ? 400 : 500, sentenceOf(error));
  }
}

/** JSON-RPC, with whatever faults are on. */
async function speak({ faults }: Served, node: Node, json: Json): Promise<Reply> {
  if (!json.ok) return { status: 200, body: parseError };
  const calls: RpcCall[] = (Array.isArray(json.value) ? json.value : [json.value]).map(readCall);
  if (calls.length === 0) return { status: 200, body: emptyBatch };
  if (calls.length > MOST_CALLS) return refusal(413, `more than ${MOST_CALLS} calls`);
  const seen = calls.filter((call) => call.ok);
  const delay = faults.strike(['delay'], node, seen);
  if (delay) await sleep(delay.ms ?? 1_000);
  const refused = faults.strike(['rateLimit', 'fail', 'cut'], node, seen);
  if (refused) return replyOf(refused);
  const answers = calls.map((call) => answer(node, call));
  const lost = faults.strike(['loseReply'], node, seen);
  if (lost) return replyOf(lost);
  return { status: 200, body: Array.isArray(json.value) ? answers : (answers[0] ?? {}) };
}

/** What stands in the place of an answer. */
function replyOf({ kind, status, retryAfter }: Fault): Reply {
  if (kind === 'rateLimit') {
    const body = { jsonrpc: '2.0', error: { code: 429, message: 'Too many requests' }, id: null };
    return { status: 429, body, headers: { 'retry-after': String(retryAfter ?? 1) } };
  }
  if (kind === 'cut' || (kind === 'loseReply' && status === undefined)) return 'cut';
  return { status: status ?? 503, body: 'Service unavailable' };
}

function send(response: ServerResponse, reply: Reply): void {
  if (reply === 'cut') response.socket?.destroy();
  if (reply === 'cut' || response.destroyed) return;
  const { status, body, headers } = reply;
  const plain = typeof body === 'string';
  const text = plain ? body : JSON.stringify(body);
  const own = { 'content-type': plain ? 'text/plain' : 'application/json', 'content-length': Buffer.byteLength(text) };
  response.writeHead(status, { ...own, ...headers });
  response.end(text);
}

function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown';
}

type Json = { readonly ok: true; readonly value: unknown } | { readonly ok: false };

function jsonOf(body: Buffer): Json {
  try {
    return { ok: true, value: JSON.parse(body.toString('utf8')) };
  } catch {
    return { ok: false };
  }
}

/** null for one that is too large; what comes of it is read and thrown away. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    if (length <= MOST_BODY_BYTES) chunks.push(chunk);
  }
  return length <= MOST_BODY_BYTES ? Buffer.concat(chunks) : null;
}
