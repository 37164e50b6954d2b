import { connect } from 'node:net';

/** The result of a load. `p50` and `p99` are the median and the 99th percentile of the latencies, ms. */
export interface LoadResult {
  perSec: number;
  p50: number;
  p99: number;
  /** Number of responses per HTTP status, without the warm-up. */
  statuses: Record<string, number>;
  /** Number of all responses, including the warm-up. */
  requests: number;
}

/**
 * Sends HTTP requests over keep-alive connections for `seconds`, with one request in flight per connection. Uses little CPU time, because it shares
 * the machine with the measured processes.
 * @param options.next returns the bytes of the next request, or null when there are no more requests
 * @param options.onResponse called with every response; `ms` is the latency, or null for a response that is not measured (for example during the
 * warm-up)
 */
export async function load(options: {
  /** Address of the server; by default this machine. */
  host?: string;
  port: number;
  connections: number;
  seconds: number;
  warmupSeconds?: number;
  next: () => Buffer | null;
  onResponse?: (request: Buffer, answer: { status: string; body: Buffer; ms: number | null }) => void;
}): Promise<LoadResult> {
  const latencies: number[] = [];
  const statuses: Record<string, number> = {};
  let requests = 0;
  const begin = performance.now() + (options.warmupSeconds ?? 2) * 1_000;
  const end = begin + options.seconds * 1_000;
  const one = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect(options.port, options.host ?? '127.0.0.1');
      socket.setNoDelay(true);
      let sent = 0;
      let current: Buffer = Buffer.alloc(0);
      let pending: Buffer = Buffer.alloc(0);
      const send = () => {
        const request = performance.now() < end ? options.next() : null;
        if (!request) {
          socket.destroy();
          resolve();
          return;
        }
        current = request;
        sent = performance.now();
        socket.write(request);
      };
      socket.on('connect', send);
      socket.on('error', reject);
      socket.on('data', (chunk) => {
        pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
        const response = parseResponse(pending);
        if (response === null) return;
        const { status, body } = response;
        pending = Buffer.alloc(0);
        const now = performance.now();
        const counts = now >= begin && now <= end;
        requests++;
        if (counts) {
          latencies.push(now - sent);
          statuses[status] = (statuses[status] ?? 0) + 1;
        }
        options.onResponse?.(current, { status, body, ms: counts ? now - sent : null });
        send();
      });
    });
  await Promise.all(Array.from({ length: options.connections }, one));
  return { perSec: Math.round(latencies.length / options.seconds), ...percentiles(latencies), statuses, requests };
}

/** An HTTP response; `head` is its status line and its headers. */
export interface Response {
  readonly status: string;
  readonly head: string;
  readonly body: Buffer;
}

/** Parses a response with the header `Content-Length`. Returns null while it is incomplete. */
export function parseResponse(bytes: Buffer): Response | null {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const head = bytes.toString('latin1', 0, end);
  const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
  return bytes.length < end + 4 + length ? null : { status: head.slice(9, 12), head, body: bytes.subarray(end + 4) };
}

/** Returns the median and the 99th percentile of the values. */
export function percentiles(values: readonly number[]): { p50: number; p99: number } {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

/**
 * Returns the bytes of an HTTP request.
 * @param body the value that is sent as JSON; undefined for no body
 */
export function request(method: string, path: string, host: string, headers: Record<string, string>, body?: unknown): Buffer {
  const text = body === undefined ? '' : JSON.stringify(body);
  const lines = [`${method} ${path} HTTP/1.1`, `Host: ${host}`, ...Object.entries(headers).map(([k, v]) => `${k}: ${v}`)];
  if (body !== undefined) lines.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(text)}`);
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${text}`);
}
