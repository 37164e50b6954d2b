import { get, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';

const ID = /^[0-9a-f]{12}:\d+-\d+(\.\d+)?$/;

/** One message of an event stream. */
export interface Message {
  /** The id that the client remembers with it. */
  readonly id: string;
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface SseOptions {
  /** `a=b&c=d` */
  readonly query?: string;
  /** Sent as `Last-Event-ID`. */
  readonly lastEventId?: string;
  readonly cookie?: string;
  /** Reads nothing until `resume()`. */
  readonly paused?: boolean;
}

const WAIT_MS = 10_000;

/**
 * A strict client of `GET /events`: it reads streams as EventSource does, and fails on anything that the service
 * would not write: an unknown field, a message without id, a type that is not that of its data.
 */
export class SseClient {
  readonly url: string;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly messages: Message[] = [];
  readonly comments: string[] = [];
  /** What an EventSource would send when it connects again. */
  lastEventId: string;
  retryMs: number | null = null;
  /** Resolves when the stream has ended, however. */
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

  /** The messages' types, in order. */
  get types(): string[] {
    return this.messages.map((message) => message.event);
  }

  /** One field of each message's data, of all or of one type. */
  values(field: string, type?: string): unknown[] {
    return this.messages.filter((message) => type === undefined || message.event === type).map((message) => message.data[field]);
  }

  /** Begins to read, after `paused`. */
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
      else throw new Error(`not a line of an event stream: ${JSON.stringify(line)}`);
    }
    if (id !== null) {
      if (!ID.test(id)) throw new Error(`not an id: ${id}`);
      this.lastEventId = id;
    }
    if (data === null) {
      if (event !== '') throw new Error(`a message without data: ${block}`);
      return;
    }
    const parsed: Record<string, unknown> = JSON.parse(data);
    if (id === null || parsed.type !== event || typeof parsed.category !== 'string' || Number.isNaN(Date.parse(String(parsed.at)))) {
      throw new Error(`not a message of ours: ${block}`);
    }
    this.messages.push({ id, event, data: parsed });
  }

  /** Waits for something to become true; fails after ten seconds, or when the stream broke the format. */
  async until(what: string, isTrue: () => boolean): Promise<void> {
    const deadline = performance.now() + WAIT_MS;
    while (!isTrue()) {
      if (this.#error) throw this.#error;
      const left = deadline - performance.now();
      if (left <= 0) throw new Error(`never came: ${what}; there are ${this.messages.length} messages, ${this.types.slice(-10)}`);
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

  /** Waits for so many messages, of all types or of one. */
  count(n: number, type?: string): Promise<void> {
    const have = () => (type === undefined ? this.messages.length : this.types.filter((t) => t === type).length);
    return this.until(`${n} messages`, () => have() >= n);
  }

  /** Connects again as EventSource does: same address and cookies, and the last id. */
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
    const headers: Record<string, string> = { Accept: 'text/event-stream' };
    if (options.lastEventId) headers['Last-Event-ID'] = options.lastEventId;
    if (options.cookie) headers.Cookie = options.cookie;
    const request = get(url, { agent: false, headers }, (response) => resolve(new SseClient(url, response, options)));
    request.on('error', reject);
  });
}

/** Opens `GET /events` of an application; resolves with the response's head, whatever its status. */
export function openEvents(t: { url: string }, options: SseOptions = {}): Promise<SseClient> {
  return connect(`${t.url}/events${options.query ? `?${options.query}` : ''}`, options);
}
