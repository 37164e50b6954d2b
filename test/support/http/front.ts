import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';

/** What stands between a client and the service: a proxy that can do what proxies and networks do. */
export class Front {
  /** What becomes of the next requests, one each: refused with a status and when to come back, or done and their answers lost. */
  next: ('lost' | { status: number; retryAfter?: string })[] = [];
  /** Method, path and `Last-Event-ID` of each request. */
  requests: string[] = [];
  url = '';
  readonly #open = new Set<{ from: IncomingMessage; to: ServerResponse }>();
  readonly #server = createServer((from, to) => this.#serve(from, to));
  readonly #service: string;

  private constructor(service: string) {
    this.#service = service;
  }

  /** Stands before a service. */
  static async start(service: string): Promise<Front> {
    const front = new Front(service);
    await once(front.#server.listen(0, '127.0.0.1'), 'listening');
    const address = front.#server.address();
    front.url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
    return front;
  }

  #serve(from: IncomingMessage, to: ServerResponse): void {
    this.requests.push(`${from.method} ${from.url} ${from.headers['last-event-id'] ?? ''}`.trim());
    const fate = this.next.shift();
    if (typeof fate === 'object') {
      to.writeHead(fate.status, { 'Content-Type': 'text/html', ...(fate.retryAfter ? { 'Retry-After': fate.retryAfter } : {}) }).end('<h1>Busy</h1>');
      return;
    }
    const upstream = request(
      `${this.#service}${from.url}`,
      { method: from.method, headers: { ...from.headers, host: new URL(this.#service).host } },
      (answer) => {
        if (fate === 'lost') return void answer.resume().on('end', () => to.destroy());
        to.writeHead(answer.statusCode ?? 502, answer.headers);
        const open = { from: answer, to };
        this.#open.add(open);
        to.on('close', () => {
          this.#open.delete(open);
          answer.destroy();
        });
        answer.on('error', () => to.destroy());
        // Nobody here waits seconds before connecting again.
        const isStream = answer.headers['content-type']?.startsWith('text/event-stream');
        answer.on('data', (bytes: Buffer) => to.write(isStream ? bytes.toString('latin1').replace(/^retry: \d+$/m, 'retry: 10') : bytes, 'latin1'));
        answer.on('end', () => to.end());
      },
    );
    upstream.on('error', () => to.destroy());
    from.pipe(upstream);
  }

  /** Breaks every connection that is open. */
  cut(): void {
    for (const { to } of this.#open) to.destroy();
  }

  /** The connections stay, and nothing comes any more. */
  stall(): void {
    for (const { from } of this.#open) from.removeAllListeners('data').pause();
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
