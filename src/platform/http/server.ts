import { createServer, type IncomingMessage, type Server, ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type Koa from 'koa';

/** How long clients may take, ms. */
export interface ClientTimeouts {
  /** For the head of a request, from connecting on. */
  readonly headMs: number;
  /** For a whole request: an upload may take ten minutes, and is told so; see upload.ts. */
  readonly requestMs: number;
  /** Between requests. */
  readonly idleMs: number;
  /** Without a byte in either direction: who asks and does not read would keep its connection for ever. */
  readonly stillMs: number;
  /** How often it is looked for those who take longer. */
  readonly checkMs: number;
}
const CLIENT_TIMEOUTS: ClientTimeouts = { headMs: 15_000, requestMs: 630_000, idleMs: 65_000, stillMs: 120_000, checkMs: 5_000 };

/** What the parser of node:http has against a request, by the code of its error; anything else is 400. */
const FAULTS: Readonly<Record<string, { readonly status: number; readonly error: string }>> = {
  HPE_HEADER_OVERFLOW: { status: 431, error: 'the request line and the headers must be at most 16 KB' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, error: 'the chunks must not have so many extensions' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, error: 'the request must arrive in time' },
};

/**
 * The HTTP server of an application. What is no request that it could answer is refused here, like anything else: one status, `{ error }`.
 * It does not listen yet.
 */
export function openServer(koa: Koa, patience: ClientTimeouts = CLIENT_TIMEOUTS): Server {
  const answer = koa.callback();
  const server = createServer({ requireHostHeader: false, connectionsCheckingInterval: patience.checkMs }, (request, response) => {
    const fault = straighten(request);
    if (fault === null) void answer(request, response);
    else refuse(response, 400, fault);
  });
  server.headersTimeout = patience.headMs;
  server.requestTimeout = patience.requestMs;
  server.keepAliveTimeout = patience.idleMs;
  server.timeout = patience.stillMs;
  server.maxRequestsPerSocket = 0;
  server.on('checkExpectation', (_request, response: ServerResponse) => refuse(response, 417, 'Expect must be 100-continue'));
  server.on('clientError', (error: Error & { code?: string }, socket) => {
    const current: unknown = Reflect.get(socket, '_httpMessage');
    // Nobody is there any more, or an answer is on its way and must not be written into.
    if (error.code === 'ECONNRESET' || !socket.writable || (current instanceof ServerResponse && current.headersSent)) return void socket.destroy();
    const { status, error: message } = FAULTS[error.code ?? ''] ?? { status: 400, error: 'the request must be valid HTTP/1.1' };
    endWith(socket, status, message);
  });
  return server;
}

/** Makes a request's target a path, where it is a whole URL. @returns what is wrong with the request, or null */
export function straighten(request: IncomingMessage): string | null {
  const hosts = timesNamed(request, 'host');
  if (hosts === 0 && request.httpVersion !== '1.0') return 'Host is required';
  // node:http keeps the first, what stands in front of us may go by the last.
  if (hosts > 1) return 'Host must be given once';
  const { url = '' } = request;
  if (url.startsWith('/') || url === '*') return null;
  const target = URL.parse(url);
  if (target === null || !/^https?:$/.test(target.protocol)) return 'the request target must be a path or a URL';
  request.url = target.pathname + target.search;
  return null;
}

/** How often a request has a header. @param name in lower case */
function timesNamed({ rawHeaders }: IncomingMessage, name: string): number {
  let times = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) if (rawHeaders[i]?.length === name.length && rawHeaders[i]?.toLowerCase() === name) times++;
  return times;
}

const bodyOf = (error: string) => JSON.stringify({ error });
const headersOf = (body: string) => ({
  'Content-Type': 'application/json; charset=utf-8',
  'Content-Length': Buffer.byteLength(body),
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  Connection: 'close',
});

function refuse(response: ServerResponse, status: number, error: string): void {
  const body = bodyOf(error);
  response.writeHead(status, headersOf(body)).end(body);
}

/** Answers on a connection that has no response, and ends it. */
export function endWith(socket: Duplex, status: number, error: string, headers: Readonly<Record<string, string>> = {}): void {
  if (!socket.writable) return void socket.destroy();
  const body = bodyOf(error);
  const lines = Object.entries({ ...headers, ...headersOf(body) }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.once('finish', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`);
}
