import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { unavailable } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { ensureStream } from './publisher.ts';
import { comparePositions, decodeEntry, eventStreamKey, follows, type Position, readTail } from './redis-stream.ts';
import { ReplayBuffer } from './replay-buffer.ts';

/** How long one read of the feed waits for something new, ms; then it is checked that this is still the same feed. */
const BLOCK_MS = 5_000;
/** Without an answer for this long the feed counts as unreachable, and the connection as dead, ms. */
const SILENT_MS = BLOCK_MS + 3_000;
/** How long a request waits for the feed to be read in, ms. */
const LOAD_MS = 1_500;
/** After a failure, how long it waits at first, then twice as long, up to; ms. */
const RETRY_MS = 50;
const MAX_RETRY_MS = 1_000;
const PAGE = 500;

/**
 * Is told of the window whenever it holds more; another window when the feed was read in: at first, and again when it is another feed
 * or has a gap. What that one does not hold cannot be told.
 */
export type Listener = (window: ReplayBuffer) => void;

/** Follows the feed over one connection for the whole process, for ever: while Redis is down it waits. */
export class StreamReader {
  readonly #app: App;
  readonly #listener: Listener;
  readonly #key: string;
  readonly #connection: Redis;
  readonly #loaded = Promise.withResolvers<void>();
  #window: ReplayBuffer | null = null;
  #heard = performance.now();
  #closed = false;

  constructor(app: App, listener: Listener) {
    this.#app = app;
    this.#listener = listener;
    this.#key = eventStreamKey(app.config);
    this.#connection = app.connect();
    this.#connection.on('end', () => this.close());
    void this.#run();
  }

  /** Reads no more. The connection ends with the others of the process. */
  close(): void {
    this.#closed = true;
    this.#loaded.resolve();
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Waits until the feed was read in. @throws 503 while it is not reachable */
  async ready(): Promise<void> {
    if (this.#window === null) {
      const timeout = new AbortController();
      await Promise.race([this.#loaded.promise, sleep(LOAD_MS, undefined, { signal: timeout.signal }).catch(() => undefined)]);
      timeout.abort();
    }
    const reachable = this.#connection.status === 'ready' && performance.now() - this.#heard < SILENT_MS;
    if (this.#window === null || !reachable || this.#closed) throw unavailable('events are not available now, try again');
  }

  /** Gives up a connection on which nothing was heard for too long; it is made anew and goes on where it was. */
  check(): void {
    if (this.#connection.status !== 'ready' || performance.now() - this.#heard < 2 * SILENT_MS) return;
    this.#heard = performance.now();
    this.#connection.disconnect(true);
  }

  async #run(): Promise<void> {
    let retryMs = RETRY_MS;
    while (!this.#closed) {
      try {
        const window = this.#window ?? (await this.#load());
        if (!(await this.#read(window)) && !this.#closed) await this.#load();
        retryMs = RETRY_MS;
      } catch (err) {
        if (this.#closed) return;
        if (retryMs === 2 * RETRY_MS) this.#app.log.warn({ err }, 'the feed of events cannot be read now');
        await sleep(retryMs);
        retryMs = Math.min(2 * retryMs, MAX_RETRY_MS);
      }
    }
  }

  /** Reads what is new. @returns whether the window is still that of the feed */
  async #read(window: ReplayBuffer): Promise<boolean> {
    const { publication, seq } = window.last;
    const answer = await this.#connection.xread('COUNT', PAGE, 'BLOCK', BLOCK_MS, 'STREAMS', this.#key, `${publication}-${seq}`);
    this.#heard = performance.now();
    const entries = answer?.[0]?.[1].map(decodeEntry) ?? [];
    if (entries.length === 0) return await this.#isCurrent(window);
    let before: Position = window.last;
    for (const entry of entries) {
      if (entry.epoch !== window.epoch || !follows(before, entry)) return false;
      before = entry;
    }
    for (const entry of entries) window.push(entry);
    this.#listener(window);
    return true;
  }

  /** Whether the feed, silent for a while, is still the one that the window shows. A missing one is about to begin anew. */
  async #isCurrent(window: ReplayBuffer): Promise<boolean> {
    const tail = await readTail(this.#connection, this.#key);
    return tail === null || (tail.epoch === window.epoch && comparePositions(tail, window.last) >= 0);
  }

  /** Reads the whole feed into a new window. */
  async #load(): Promise<ReplayBuffer> {
    await ensureStream(this.#app);
    let window: ReplayBuffer | null = null;
    for (let from = '-'; ; ) {
      const entries = (await this.#connection.xrange(this.#key, from, '+', 'COUNT', PAGE)).map(decodeEntry);
      this.#heard = performance.now();
      for (const entry of entries) {
        if (window === null) window = new ReplayBuffer(entry, this.#app.events.batched);
        else if (entry.epoch === window.epoch && follows(window.last, entry)) window.push(entry);
        else throw new Error('the feed of events began anew while it was read');
      }
      const last = entries.at(-1);
      if (!last || entries.length < PAGE) break;
      from = `(${last.id}`;
    }
    if (window === null) throw new Error('the feed of events was lost while it was read');
    this.#window = window;
    this.#listener(window);
    this.#loaded.resolve();
    return window;
  }
}
