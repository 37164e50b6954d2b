import type { Socket } from 'node:net';
import { countDropped, countReset, countStreamed } from '#platform/observability/metrics/metrics.ts';
import type { Batch } from './batch.ts';
import type { EventCatalog } from './event.ts';
import { type Bookmark, bookmark, heartbeat, opening, reset } from './frame.ts';
import { comparePositions } from './redis-stream.ts';
import type { Reader, ReplayBuffer } from './replay-buffer.ts';

/** A subscriber that is further behind is dropped; it connects again and goes on where it was. Bytes. */
const MAX_BEHIND = 1024 * 1024;
/** What was missed is sent in pages of its own, as fast as the client reads; what is more than this is told as a reset. Bytes. */
const PAGE_BYTES = 64 * 1024;
const MAX_MISSED = 8 * 1024 * 1024;
/** How long a stream may take to end, ms: a client that does not read would keep its socket for ever. */
const END_MS = 30_000;

/** What a subscriber needs of the process. */
export interface SubscriberDeps {
  /** The feed as this process knows it now. */
  window(): ReplayBuffer;
  /** What came to it after so many entries; null when that cannot be told any more. */
  since(end: number): Batch | null;
  now(): Date;
  readonly resetLinks: EventCatalog['resetLinks'];
}

/** One stream, on its way to one client. There may be ten thousand: it has no timer and no connection of its own. */
export class Subscriber implements Reader {
  readonly mask: number;
  readonly wallet: string | null;
  readonly sessionId: string | null;
  /** When it ends, by `performance.now()`. */
  readonly until: number;
  readonly #socket: Socket;
  readonly #surroundings: SubscriberDeps;
  /** It has everything of this window up to so many entries, while it is live. */
  #window: ReplayBuffer | null = null;
  #end = 0;
  /** It is being sent what it missed, so far up to here; null = it is live. */
  #missing: { from: Bookmark; sent: number } | null = null;
  /** It has seen more, from another process, than this one has read: nothing up to here is sent again. */
  #after: Bookmark | null = null;

  constructor(socket: Socket, reader: Reader & { sessionId: string | null }, until: number, surroundings: SubscriberDeps) {
    this.mask = reader.mask;
    this.wallet = reader.wallet;
    this.sessionId = reader.sessionId;
    this.until = until;
    this.#socket = socket;
    this.#surroundings = surroundings;
  }

  /**
   * Begins the stream: live, or with what was missed, or with the news that it cannot be told.
   * @param from 'now', a bookmark, or null for one that is not known
   */
  begin(from: Bookmark | 'now' | null): void {
    const window = this.#surroundings.window();
    const retryMs = 1_000 + Math.floor(3_000 * Math.random());
    if (from === 'now') this.#goLive(window, [opening(retryMs, 'live'), bookmark(window.id)]);
    else if (from === null || !window.covers(from)) this.#goLive(window, [opening(retryMs, 'reset'), this.#reset(window)]);
    else if (comparePositions(from, window.last) > 0) {
      this.#after = from;
      this.#goLive(window, [opening(retryMs, 'resumed')]);
    } else {
      this.#socket.write(opening(retryMs, 'resumed'));
      this.#missing = { from, sent: 0 };
      this.#catchUp();
    }
  }

  /** From here on it is sent what is new. */
  #goLive(window: ReplayBuffer, last: readonly Buffer[]): void {
    this.#missing = null;
    this.#window = window;
    this.#end = window.end;
    this.#write(Buffer.concat(last));
  }

  /** Sends page by page what was missed, as the client reads. With the last page it is live, in the same turn: no gap, no double. */
  #catchUp(): void {
    while (this.#missing !== null && this.#socket.writable) {
      const window = this.#surroundings.window();
      const { from, sent } = this.#missing;
      // Where the feed ends earlier now, Redis has lost its end: that is as good as a gap.
      if (!window.covers(from) || comparePositions(from, window.last) > 0 || sent > MAX_MISSED) {
        this.#goLive(window, [this.#reset(window)]);
        return;
      }
      const { messages, end } = window.page(from, this, PAGE_BYTES);
      if (end === null) {
        this.#goLive(window, [...messages, bookmark(window.id)]);
        return;
      }
      const bytes = Buffer.concat(messages);
      this.#missing = { from: end, sent: sent + bytes.length };
      if (!this.#write(bytes)) {
        this.#socket.once('drain', () => this.#catchUp());
        return;
      }
    }
  }

  /**
   * Sends what came since the last time, if it is live.
   * @returns false when the client was too far behind, and was dropped
   */
  update(): boolean {
    const window = this.#surroundings.window();
    if (this.#missing !== null || (this.#window === window && this.#end === window.end)) return true;
    const batch = this.#window === window ? this.#surroundings.since(this.#end) : null;
    this.#window = window;
    this.#end = window.end;
    const bytes = batch === null ? this.#reset(window) : batch(this, this.#after);
    if (batch === null || (this.#after !== null && comparePositions(window.last, this.#after) >= 0)) this.#after = null;
    return this.#send(bytes);
  }

  /** Sends a sign of life, with a new id if it has all up to there. @returns as `update` */
  beat(): boolean {
    if (!this.update()) return false;
    const isUpToDate = this.#missing === null && this.#after === null;
    return this.#send(heartbeat(isUpToDate ? this.#surroundings.window().id : null));
  }

  #send(bytes: Buffer): boolean {
    if (bytes.length === 0 || !this.#socket.writable) return true;
    if (this.#socket.writableLength > MAX_BEHIND) {
      // Not only closed: what the kernel holds for a client that does not read, megabytes, would stay there for minutes.
      this.#socket.resetAndDestroy();
      countDropped();
      return false;
    }
    this.#write(bytes);
    return true;
  }

  #write(bytes: Buffer): boolean {
    countStreamed(bytes.length);
    return this.#socket.write(bytes);
  }

  /** Ends the stream after what was sent so far. @returns when it has ended */
  end(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const overdue = setTimeout(() => this.abort(), END_MS).unref();
    this.#socket.once('close', () => {
      clearTimeout(overdue);
      resolve();
    });
    this.#socket.end();
    return promise;
  }

  abort(): void {
    this.#socket.destroy();
  }

  #reset(window: ReplayBuffer): Buffer {
    countReset();
    return reset(window.id, this.#surroundings.now(), this.#surroundings.resetLinks);
  }
}
