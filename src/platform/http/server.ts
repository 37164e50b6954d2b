import { createServer, type IncomingMessage, type Server, ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type Koa from 'koa';

/** Timeouts of connections from clients, ms. */
export interface ClientTimeouts {
  /** Maximum time to receive the headers of a request. */
  readonly headersMs: number;
  /**
   * Maximum time to receive a whole request. It is longer than the ten minutes that `uploads.ts` allows, so that a slow upload gets the error
   * sentence of `uploads.ts`.
   */
  readonly requestMs: number;
  /** Maximum time between two requests of a connection. */
  readonly keepAliveMs: number;
  /**
   * Maximum time without a byte in either direction. After this time the server closes the connection, for example when a client does not read the
   * response.
   */
  readonly inactivityMs: number;
  /** Interval between two checks of the timeouts. */
  readonly checkMs: number;
}
const CLIENT_TIMEOUTS: ClientTimeouts = { headersMs: 15_000, requestMs: 630_000, keepAliveMs: 65_000, inactivityMs: 120_000, checkMs: 5_000 };

/** Responses to errors of the HTTP parser, by error code. Other parser errors get a 400. */
const PARSER_ERRORS: Readonly<Record<string, { readonly status: number; readonly error: string }>> = {
  HPE_HEADER_OVERFLOW: { status: 431, error: 'the request line and the headers must be at most 16 KB' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, error: 'the extensions of the chunks must be at most 16 KB' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, error: 'the request must arrive within the timeouts of the server' },
};

/**
 * Creates the HTTP server of an application. The server does not listen yet. A request that cannot be parsed gets an error response with the body of
 * all error responses, `{ error }`.
 */
export function openServer(koa: Koa, timeouts: ClientTimeouts = CLIENT_TIMEOUTS): Server {
  const answer = koa.callback();
  const server = createServer({ requireHostHeader: false, connectionsCheckingInterval: timeouts.checkMs }, (request, response) => {
    const fault = normalizeTarget(request);
    if (fault === null) answer(request, response).catch(() => response.destroy());
    else sendError(response, 400, fault);
  });
  server.headersTimeout = timeouts.headersMs;
  server.requestTimeout = timeouts.requestMs;
  server.keepAliveTimeout = timeouts.keepAliveMs;
  server.timeout = timeouts.inactivityMs;
  server.maxRequestsPerSocket = 0;
  server.on('checkExpectation', (_request, response: ServerResponse) => sendError(response, 417, 'Expect must be 100-continue'));
  server.on('clientError', (error: Error & { code?: string }, socket) => {
    const current: unknown = Reflect.get(socket, '_httpMessage');
    // Sends no error response when the client has disconnected, or when another response has begun, because the error response would corrupt the
    // other response.
    if (error.code === 'ECONNRESET' || !socket.writable || (current instanceof ServerResponse && current.headersSent)) return void socket.destroy();
    const { status, error: message } = PARSER_ERRORS[error.code ?? ''] ?? { status: 400, error: 'the request must be valid HTTP/1.1' };
    respondAndClose(socket, status, message);
  });
  return server;
}

/** Interval at which a server that closes looks for idle connections, ms. */
const IDLE_CHECK_MS = 50;

/**
 * Closes a server. Requests in flight are answered. Each connection closes soon after its last response, or with the response to its next request, so
 * a client that sends requests without a pause does not delay the end.
 * @param withinMs time after which the connections that are still open are closed
 */
export async function closeServer(server: Server, withinMs: number): Promise<void> {
  server.prependListener('request', (_request, response: ServerResponse) => {
    response.shouldKeepAlive = false;
  });
  const closed = new Promise((resolve) => server.close(resolve));
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
  const cut = setTimeout(() => server.closeAllConnections(), withinMs);
  await closed;
  clearInterval(idle);
  clearTimeout(cut);
}

/**
 * Checks the Host header and the target of a request. Replaces a target that is a whole URL with its path and query.
 * @returns null, or an error sentence when the Host header or the target is invalid
 */
export function normalizeTarget(request: IncomingMessage): string | null {
  const hosts = countHeader(request, 'host');
  if (hosts === 0 && request.httpVersion !== '1.0') return 'Host is required';
  // node:http uses the first Host header, and a proxy may use the last one, so a request with several Host headers is ambiguous.
  if (hosts > 1) return 'Host must be given once';
  const { url = '' } = request;
  if (url.startsWith('/') || url === '*') return null;
  const target = URL.parse(url);
  if (target === null || !/^https?:$/.test(target.protocol)) return 'the request target must be a path or a URL';
  request.url = target.pathname + target.search;
  return null;
}

/**
 * Returns the number of headers with a name.
 * @param name the header name in lower case
 */
function countHeader({ rawHeaders }: IncomingMessage, name: string): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) if (rawHeaders[i]?.length === name.length && rawHeaders[i]?.toLowerCase() === name) count++;
  return count;
}

const bodyOf = (error: string) => JSON.stringify({ error });
const headersOf = (body: string) => ({
  'Content-Type': 'application/json; charset=utf-8',
  'Content-Length': Buffer.byteLength(body),
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  Connection: 'close',
});

function sendError(response: ServerResponse, status: number, error: string): void {
  const body = bodyOf(error);
  response.writeHead(status, headersOf(body)).end(body);
}

/** Writes an error response to a socket that has no `ServerResponse`, and closes it. */
export function respondAndClose(socket: Duplex, status: number, error: string, headers: Readonly<Record<string, string>> = {}): void {
  if (!socket.writable) return void socket.destroy();
  const body = bodyOf(error);
  const lines = Object.entries({ ...headers, ...headersOf(body) }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.once('finish', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`);
}
