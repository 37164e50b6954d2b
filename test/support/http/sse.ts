import { get, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';

const ID = /^[0-9a-f]{12}:\d+-\d+(\.\d+)?$/;

/** One message of an event stream. */
export interface Message {
  /** Id for `Last-Event-ID`. */
  readonly id: string;
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface SseOptions {
  /** Query string, such as `a=b&c=d`. */
  readonly query?: string;
  /** Value of the header `Last-Event-ID`. */
  readonly lastEventId?: string;
  readonly cookie?: string;
  /** Further headers. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the client reads nothing until `resume()`. */
  readonly paused?: boolean;
}

const WAIT_MS = 10_000;

/**
 * A strict client of `GET /events`. It parses streams as EventSource does, and fails on an unknown field, a message without id, or a message whose event differs
 * from the type in its data.
 */
export class SseClient {
  readonly url: string;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly messages: Message[] = [];
  readonly comments: string[] = [];
  /** Last received id, which EventSource sends when it reconnects. */
  lastEventId: string;
  retryMs: number | null = null;
  /** Resolves when the stream has ended or broken. */
  readonly ended: Promise<void>;
  readonly #response: IncomingMessage;
  readonly #cookie: string | undefined;
  #error: Error | null = null;
  #isOpen = true;
  #changed = () => {};

  constructor(url: string, response: IncomingMessage, options: SseOptions) {
    this.url = url;
    this.status = response.statusCode ?? 0;
    this.headers = response.headers;
    this.lastEventId = options.lastEventId ?? '';
    this.#cookie = options.cookie;
    this.#response = response;
    const ended = Promise.withResolvers<void>();
    this.ended = ended.promise;
    response.on('error', () => undefined);
    response.on('close', () => {
      this.#isOpen = false;
      ended.resolve();
      this.#changed();
    });
    if (!options.paused) this.resume();
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Types of the messages, in order. */
  get types(): string[] {
    return this.messages.map((message) => message.event);
  }

  /** Returns one data field of each message, of all types or of one. */
  values(field: string, type?: string): unknown[] {
    return this.messages.filter((message) => type === undefined || message.event === type).map((message) => message.data[field]);
  }

  /** Starts to read. Only needed with the option `paused`. */
  resume(): void {
    const decoder = new TextDecoder('utf-8', { fatal: true });
    let rest = '';
    this.#response.on('data', (bytes: Buffer) => {
      try {
        const blocks = (rest + decoder.decode(bytes, { stream: true })).split('\n\n');
        rest = blocks.pop() ?? '';
        for (const block of blocks) this.#read(block);
      } catch (error) {
        this.#error = error instanceof Error ? error : new Error(String(error));
        this.close();
      }
      this.#changed();
    });
  }

  #read(block: string): void {
    let event = '';
    let data: string | null = null;
    let id: string | null = null;
    for (const line of block.split('\n')) {
      const [, field = '', value = ''] = /^(id|event|data|retry|): ?(.*)$/s.exec(line) ?? [];
      if (field === 'id') id = value;
      else if (field === 'event') event = value;
      else if (field === 'data' && data === null) data = value;
      else if (field === 'retry' && /^\d+$/.test(value)) this.retryMs = Number(value);
      else if (line.startsWith(':')) this.comments.push(line.slice(1).trim());
      else throw new Error(`invalid line of an event stream: ${JSON.stringify(line)}`);
    }
    if (id !== null) {
      if (!ID.test(id)) throw new Error(`invalid id: ${id}`);
      this.lastEventId = id;
    }
    if (data === null) {
      if (event !== '') throw new Error(`a message without data: ${block}`);
      return;
    }
    const parsed: Record<string, unknown> = JSON.parse(data);
    if (id === null || parsed.type !== event || typeof parsed.category !== 'string' || Number.isNaN(Date.parse(String(parsed.at)))) {
      throw new Error(`invalid message: ${block}`);
    }
    this.messages.push({ id, event, data: parsed });
  }

  /** Waits until a condition is true. @throws after ten seconds, and when the stream is malformed */
  async until(condition: string, isTrue: () => boolean): Promise<void> {
    const deadline = performance.now() + WAIT_MS;
    while (!isTrue()) {
      if (this.#error) throw this.#error;
      const left = deadline - performance.now();
      if (left <= 0)
        throw new Error(
          `timeout while waiting for: ${condition}; received ${this.messages.length} messages, the last ones are ${this.types.slice(-10)}`,
        );
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.min(left, 50));
        this.#changed = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    if (this.#error) throw this.#error;
  }

  /** Waits for `n` messages, of all types or of one. */
  count(n: number, type?: string): Promise<void> {
    const have = () => (type === undefined ? this.messages.length : this.types.filter((t) => t === type).length);
    return this.until(`${n} messages`, () => have() >= n);
  }

  /** Reconnects as EventSource does: same URL and cookies, and the last id. */
  reconnect(options: SseOptions & { url?: string } = {}): Promise<SseClient> {
    const known = { lastEventId: this.lastEventId, ...(this.#cookie ? { cookie: this.#cookie } : {}) };
    return connect(options.url ?? this.url, { ...known, ...options });
  }

  close(): void {
    this.#response.destroy();
  }
}

function connect(url: string, options: SseOptions): Promise<SseClient> {
  return new Promise((resolve, reject) => {
    const headers: Record<string, string> = { ...options.headers, Accept: 'text/event-stream' };
    if (options.lastEventId) headers['Last-Event-ID'] = options.lastEventId;
    if (options.cookie) headers.Cookie = options.cookie;
    const request = get(url, { agent: false, headers }, (response) => resolve(new SseClient(url, response, options)));
    request.on('error', reject);
  });
}

/** Opens `GET /events`. Resolves when the headers have arrived, with any status. */
export function openEvents(t: { url: string }, options: SseOptions = {}): Promise<SseClient> {
  return connect(`${t.url}/events${options.query ? `?${options.query}` : ''}`, options);
}
