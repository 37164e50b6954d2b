import { type AnyApiResponse, readResponse } from './request.ts';
import { BlockReader, type SseBlock } from './sse.ts';

/** One connection to an event stream. It fails when no data arrives for `silenceMs` ms. This limit also applies while the connection opens. */
export class Connection {
  /**
   * The error that prevented the connection from opening or that ended the connection. It is null while the connection works, and after the service
   * has closed the connection.
   */
  failure: Error | null = null;
  readonly #silenceMs: number;
  readonly #abort = new AbortController();
  readonly #signal: AbortSignal | undefined;
  readonly #blocks = new BlockReader();
  #reader: ReadableStreamDefaultReader<Uint8Array> | null = null;
  #ready: SseBlock[] = [];

  constructor(silenceMs: number, signal: AbortSignal | undefined) {
    this.#silenceMs = silenceMs;
    this.#signal = signal;
    if (signal?.aborted) this.close();
    signal?.addEventListener('abort', this.close);
  }

  /** Opens the connection. @returns null when it is open; otherwise the error response, or 'unreachable' */
  async open(send: (signal: AbortSignal) => Promise<Response>): Promise<AnyApiResponse | 'unreachable' | null> {
    const response = await this.#withTimeout(() => send(this.#abort.signal));
    if (!response) return 'unreachable';
    if (response.body && /^text\/event-stream\b/.test(response.headers.get('Content-Type') ?? '')) {
      this.#reader = response.body.getReader();
      return null;
    }
    const answer = await this.#withTimeout(() => readResponse(response));
    this.failure ??= new Error(answer && !answer.ok ? answer.error : 'the response is not an event stream');
    return answer ?? 'unreachable';
  }

  /** Returns the next block of the stream; null when the connection has ended. */
  async next(): Promise<SseBlock | null> {
    const reader = this.#reader;
    while (reader && this.#ready.length === 0) {
      const read = await this.#withTimeout(() => reader.read());
      if (!read || read.done) return null;
      this.#ready = this.#blocks.read(read.value);
    }
    return this.#ready.shift() ?? null;
  }

  readonly close = (): void => {
    this.#signal?.removeEventListener('abort', this.close);
    this.#abort.abort();
  };

  async #withTimeout<T>(work: () => Promise<T>): Promise<T | null> {
    const timer = setTimeout(() => {
      this.failure = new Error(`no data for ${this.#silenceMs} ms`);
      this.close();
    }, this.#silenceMs);
    try {
      return await work();
    } catch (error) {
      this.failure ??= error instanceof Error ? error : new Error(String(error));
      return null;
    } finally {
      clearTimeout(timer);
    }
  }
}
