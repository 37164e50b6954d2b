import { connect } from 'node:net';

/** What a load came to. Latencies in ms. */
export interface LoadResult {
  perSec: number;
  p50: number;
  p99: number;
  max: number;
  /** How often each status was answered. */
  statuses: Record<string, number>;
  /** All that were answered, the warm-up's too. */
  requests: number;
}

/**
 * Sends requests over keep-alive connections, one in flight on each, for a while. Lean on purpose: it shares the cores with
 * what it measures.
 * @param next the bytes of the next request, or null when there are no more
 */
export async function load(options: {
  port: number;
  connections: number;
  seconds: number;
  warmupSeconds?: number;
  next: () => Buffer | null;
}): Promise<LoadResult> {
  const latencies: number[] = [];
  const statuses: Record<string, number> = {};
  let requests = 0;
  const begin = performance.now() + (options.warmupSeconds ?? 2) * 1_000;
  const end = begin + options.seconds * 1_000;
  const one = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect(options.port, '127.0.0.1');
      socket.setNoDelay(true);
      let sent = 0;
      let pending: Buffer = Buffer.alloc(0);
      const send = () => {
        const request = performance.now() < end ? options.next() : null;
        if (!request) {
          socket.destroy();
          resolve();
          return;
        }
        sent = performance.now();
        socket.write(request);
      };
      socket.on('connect', send);
      socket.on('error', reject);
      socket.on('data', (chunk) => {
        pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
        const head = pending.indexOf('\r\n\r\n');
        if (head < 0) return;
        const text = pending.toString('latin1', 0, head);
        const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
        if (pending.length < head + 4 + length) return;
        pending = Buffer.alloc(0);
        const now = performance.now();
        requests++;
        if (now >= begin && now <= end) {
          latencies.push(now - sent);
          const status = text.slice(9, 12);
          statuses[status] = (statuses[status] ?? 0) + 1;
        }
        send();
      });
    });
  await Promise.all(Array.from({ length: options.connections }, one));
  latencies.sort((a, b) => a - b);
  const at = (share: number) => Math.round(100 * (latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0)) / 100;
  return { perSec: Math.round(latencies.length / options.seconds), p50: at(0.5), p99: at(0.99), max: at(1), statuses, requests };
}

/** The bytes of a request. */
export function request(method: string, path: string, host: string, headers: Record<string, string>, body?: unknown): Buffer {
  const text = body === undefined ? '' : JSON.stringify(body);
  const lines = [`${method} ${path} HTTP/1.1`, `Host: ${host}`, ...Object.entries(headers).map(([k, v]) => `${k}: ${v}`)];
  if (body !== undefined) lines.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(text)}`);
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${text}`);
}
