import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';

/** A reverse proxy that simulates failures of proxies and networks. */
export class FlakyProxy {
  /** Faults of the next requests, one each: an error status with Retry-After, or `lost`: the service processes the request and the response is dropped. */
  next: ('lost' | { status: number; retryAfter?: string })[] = [];
  /** Method, path and `Last-Event-ID` of each received request. */
  requests: string[] = [];
  url = '';
  readonly #open = new Set<{ from: IncomingMessage; to: ServerResponse }>();
  readonly #server = createServer((from, to) => this.#serve(from, to));
  readonly #service: string;

  private constructor(service: string) {
    this.#service = service;
  }

  /** Starts a proxy for a service. @param service its base URL */
  static async start(service: string): Promise<FlakyProxy> {
    const front = new FlakyProxy(service);
    await once(front.#server.listen(0, '127.0.0.1'), 'listening');
    const address = front.#server.address();
    front.url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
    return front;
  }

  #serve(from: IncomingMessage, to: ServerResponse): void {
    this.requests.push(`${from.method} ${from.url} ${from.headers['last-event-id'] ?? ''}`.trim());
    const fault = this.next.shift();
    if (typeof fault === 'object') {
      to.writeHead(fault.status, { 'Content-Type': 'text/html', ...(fault.retryAfter ? { 'Retry-After': fault.retryAfter } : {}) }).end(
        '<h1>Busy</h1>',
      );
      return;
    }
    const upstream = request(
      `${this.#service}${from.url}`,
      { method: from.method, headers: { ...from.headers, host: new URL(this.#service).host } },
      (answer) => {
        if (fault === 'lost') return void answer.resume().on('end', () => to.destroy());
        to.writeHead(answer.statusCode ?? 502, answer.headers);
        const open = { from: answer, to };
        this.#open.add(open);
        to.on('close', () => {
          this.#open.delete(open);
          answer.destroy();
        });
        answer.on('error', () => to.destroy());
        // Shortens the reconnect delay of event streams, so that tests are fast.
        const isStream = answer.headers['content-type']?.startsWith('text/event-stream');
        answer.on('data', (bytes: Buffer) => to.write(isStream ? bytes.toString('latin1').replace(/^retry: \d+$/m, 'retry: 10') : bytes, 'latin1'));
        answer.on('end', () => to.end());
      },
    );
    upstream.on('error', () => to.destroy());
    from.pipe(upstream);
  }

  /** Closes every open connection. */
  cut(): void {
    for (const { to } of this.#open) to.destroy();
  }

  /** Keeps the open connections and forwards no more bytes. */
  stall(): void {
    for (const { from } of this.#open) from.removeAllListeners('data').pause();
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
