import { setTimeout as sleep } from 'node:timers/promises';
import { unavailable } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import type { RedisClient } from '#platform/redis/connection.ts';
import { ensureStream } from './publisher.ts';
import { comparePositions, decodeEntry, eventStreamKey, follows, type Position, readTail } from './redis-stream.ts';
import { ReplayBuffer } from './replay-buffer.ts';

/** Maximum time that one blocking read waits for new entries, ms. When no entry arrives, the reader checks that the Redis stream was not replaced. */
const BLOCK_MS = 5_000;
/** Time without a response from Redis after which the Redis stream counts as unreachable, ms. */
const UNREACHABLE_MS = BLOCK_MS + 3_000;
/** Maximum time that a request of a client waits until the Redis stream is loaded, ms. */
const LOAD_MS = 1_500;
/** Delay after a first failure, ms. It doubles with each further failure, up to the maximum. */
const RETRY_MS = 50;
const MAX_RETRY_MS = 1_000;
/** Maximum entries per read. */
const PAGE = 500;

/**
 * Receives the replay buffer each time the buffer has grown. A different buffer object means that the Redis stream was loaded again, because it was
 * replaced or had a gap; subscribers cannot receive events that the new buffer does not hold.
 */
export type Listener = (buffer: ReplayBuffer) => void;

/** Reads the Redis stream over one connection for the whole process. While Redis is down, the reader retries. */
export class StreamReader {
  readonly #app: App;
  readonly #listener: Listener;
  readonly #key: string;
  readonly #connection: RedisClient;
  readonly #loaded = Promise.withResolvers<void>();
  #buffer: ReplayBuffer | null = null;
  #lastResponseAt = performance.now();
  #closed = false;

  constructor(app: App, listener: Listener) {
    this.#app = app;
    this.#listener = listener;
    this.#key = eventStreamKey(app.config);
    this.#connection = app.connect();
    this.#connection.on('end', () => this.close());
    this.#run().catch((err: unknown) => this.#app.log.error({ err }, 'the reader of the Redis stream of events has stopped'));
  }

  /** Stops reading. The connection stays open until the application closes all its connections. */
  close(): void {
    this.#closed = true;
    this.#loaded.resolve();
  }

  get closed(): boolean {
    return this.#closed;
  }

  /**
   * Waits until the Redis stream is loaded.
   * @throws 503 while the stream is unreachable
   */
  async ready(): Promise<void> {
    if (this.#buffer === null) {
      const timeout = new AbortController();
      await Promise.race([this.#loaded.promise, sleep(LOAD_MS, undefined, { signal: timeout.signal }).catch(() => undefined)]);
      timeout.abort();
    }
    const reachable = this.#connection.status === 'ready' && performance.now() - this.#lastResponseAt < UNREACHABLE_MS;
    if (this.#buffer === null || !reachable || this.#closed) throw unavailable('events are not available, try again');
  }

  /** Reconnects when Redis has sent no response for too long. The reader then continues at the same position. */
  check(): void {
    if (this.#connection.status !== 'ready' || performance.now() - this.#lastResponseAt < 2 * UNREACHABLE_MS) return;
    this.#lastResponseAt = performance.now();
    this.#connection.disconnect(true);
  }

  async #run(): Promise<void> {
    let retryMs = RETRY_MS;
    while (!this.#closed) {
      try {
        const buffer = this.#buffer ?? (await this.#load());
        if (!(await this.#read(buffer)) && !this.#closed) await this.#load();
        retryMs = RETRY_MS;
      } catch (err) {
        if (this.#closed) return;
        if (retryMs === 2 * RETRY_MS) this.#app.log.warn({ err }, 'the Redis stream of events cannot be read; the reader retries');
        await sleep(retryMs);
        retryMs = Math.min(2 * retryMs, MAX_RETRY_MS);
      }
    }
  }

  /**
   * Reads new entries of the Redis stream into the buffer.
   * @returns false when the stream was replaced or has a gap
   */
  async #read(buffer: ReplayBuffer): Promise<boolean> {
    const { publication, seq } = buffer.last;
    const answer = await this.#connection.xread('COUNT', PAGE, 'BLOCK', BLOCK_MS, 'STREAMS', this.#key, `${publication}-${seq}`);
    this.#lastResponseAt = performance.now();
    const entries = answer?.[0]?.[1].map(decodeEntry) ?? [];
    if (entries.length === 0) return await this.#isCurrent(buffer);
    let before: Position = buffer.last;
    for (const entry of entries) {
      if (entry.epoch !== buffer.epoch || !follows(before, entry)) return false;
      before = entry;
    }
    for (const entry of entries) buffer.push(entry);
    this.#listener(buffer);
    return true;
  }

  /**
   * Returns whether the buffer belongs to the current Redis stream. Returns true when the stream is missing, because the publisher then starts a new
   * one.
   */
  async #isCurrent(buffer: ReplayBuffer): Promise<boolean> {
    const tail = await readTail(this.#connection, this.#key);
    return tail === null || (tail.epoch === buffer.epoch && comparePositions(tail, buffer.last) >= 0);
  }

  /** Loads the whole Redis stream into a new buffer. */
  async #load(): Promise<ReplayBuffer> {
    await ensureStream(this.#app);
    let buffer: ReplayBuffer | null = null;
    for (let from = '-'; ; ) {
      const entries = (await this.#connection.xrange(this.#key, from, '+', 'COUNT', PAGE)).map(decodeEntry);
      this.#lastResponseAt = performance.now();
      for (const entry of entries) {
        if (buffer === null) buffer = new ReplayBuffer(entry, this.#app.events.batched);
        else if (entry.epoch === buffer.epoch && follows(buffer.last, entry)) buffer.push(entry);
        else throw new Error('the Redis stream of events was replaced during the load');
      }
      const last = entries.at(-1);
      if (!last || entries.length < PAGE) break;
      from = `(${last.id}`;
    }
    if (buffer === null) throw new Error('the Redis stream of events was lost during the load');
    this.#buffer = buffer;
    this.#listener(buffer);
    this.#loaded.resolve();
    return buffer;
  }
}
