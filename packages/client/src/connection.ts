import { type AnyAnswer, answerOf } from './request.ts';
import { type Block, Blocks } from './sse.ts';

/** One connection to an event stream, under a watch: it breaks when nothing at all comes for too long, at its beginning or later. */
export class Connection {
  /** Why it could not be opened, or broke; null while it goes well, and when the service has ended it. */
  failure: Error | null = null;
  readonly #silenceMs: number;
  readonly #abort = new AbortController();
  readonly #signal: AbortSignal | undefined;
  readonly #blocks = new Blocks();
  #reader: ReadableStreamDefaultReader<Uint8Array> | null = null;
  #ready: Block[] = [];

  constructor(silenceMs: number, signal: AbortSignal | undefined) {
    this.#silenceMs = silenceMs;
    this.#signal = signal;
    if (signal?.aborted) this.close();
    signal?.addEventListener('abort', this.close);
  }

  /** @returns null when it is open; otherwise the refusal, or 'unreachable' */
  async open(send: (signal: AbortSignal) => Promise<Response>): Promise<AnyAnswer | 'unreachable' | null> {
    const response = await this.#watched(() => send(this.#abort.signal));
    if (!response) return 'unreachable';
    if (response.body && /^text\/event-stream\b/.test(response.headers.get('Content-Type') ?? '')) {
      this.#reader = response.body.getReader();
      return null;
    }
    const answer = await this.#watched(() => answerOf(response));
    this.failure ??= new Error(answer && !answer.ok ? answer.error : 'the answer is no event stream');
    return answer ?? 'unreachable';
  }

  /** The next block; null = there will be none any more. */
  async next(): Promise<Block | null> {
    const reader = this.#reader;
    while (reader && this.#ready.length === 0) {
      const read = await this.#watched(() => reader.read());
      if (!read || read.done) return null;
      this.#ready = this.#blocks.read(read.value);
    }
    return this.#ready.shift() ?? null;
  }

  readonly close = (): void => {
    this.#signal?.removeEventListener('abort', this.close);
    this.#abort.abort();
  };

  async #watched<T>(work: () => Promise<T>): Promise<T | null> {
    const timer = setTimeout(() => {
      this.failure = new Error(`nothing came for ${this.#silenceMs} ms`);
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
