import type { ServerResponse } from 'node:http';
import { countDropped, countReset, countStreamed } from '../metrics/measure.ts';
import { comparePlaces } from './feed.ts';
import { type Bookmark, bookmark, opening, reset } from './frame.ts';
import type { Reader, Window } from './window.ts';

/** A subscriber that is further behind is dropped; it connects again and goes on where it was. Bytes. */
const MAX_BEHIND = 1024 * 1024;
/** What was missed is sent in pages, as fast as the client reads; what is more than this is told as a reset. Bytes. */
const PAGE_BYTES = 256 * 1024;
const MAX_MISSED = 8 * 1024 * 1024;
/** How long a stream may take to end, ms: a client that does not read would keep its socket for ever. */
const END_MS = 30_000;

/** What a subscriber needs of the process. */
export interface Surroundings {
  /** The feed as this process knows it now. */
  window(): Window;
  now(): Date;
}

/** One stream, on its way to one client. There may be ten thousand: it has no timer and no connection of its own. */
export class Subscriber implements Reader {
  readonly mask: number;
  readonly wallet: string | null;
  readonly sessionId: string | null;
  /** When it ends, by `performance.now()`. */
  readonly until: number;
  readonly #response: ServerResponse;
  readonly #surroundings: Surroundings;
  /** It is being sent what it missed, so far up to here; null = it is live. */
  #missing: { from: Bookmark; sent: number } | null = null;
  /** It has seen more, from another process, than this one has read: nothing up to here is sent again. */
  #after: Bookmark | null = null;

  constructor(response: ServerResponse, reader: Reader & { sessionId: string | null }, until: number, surroundings: Surroundings) {
    this.mask = reader.mask;
    this.wallet = reader.wallet;
    this.sessionId = reader.sessionId;
    this.until = until;
    this.#response = response;
    this.#surroundings = surroundings;
  }

  /** Whether it has everything that this process has told so far. */
  get isLive(): boolean {
    return this.#missing === null;
  }

  /** What of the events told now it has already; null = nothing. */
  get after(): Bookmark | null {
    return this.#after;
  }

  /**
   * Begins the stream: live, or with what was missed, or with the news that it cannot be told.
   * @param from 'now', a bookmark, or null for one that is not known
   */
  begin(from: Bookmark | 'now' | null): void {
    const window = this.#surroundings.window();
    const retryMs = 1_000 + Math.floor(3_000 * Math.random());
    if (from === 'now') this.#write(Buffer.concat([opening(retryMs, 'live'), bookmark(window.id)]));
    else if (from === null || !window.covers(from)) this.#write(Buffer.concat([opening(retryMs, 'reset'), this.#reset(window)]));
    else {
      this.#write(opening(retryMs, 'resumed'));
      if (comparePlaces(from, window.last) > 0) this.#after = from;
      else {
        this.#missing = { from, sent: 0 };
        this.#catchUp();
      }
    }
  }

  /** Sends page by page what was missed, as the client reads. With the last page it is live, in the same turn: no gap, no double. */
  #catchUp(): void {
    while (this.#missing !== null && this.isOpen) {
      const window = this.#surroundings.window();
      const { from, sent } = this.#missing;
      if (!window.covers(from) || sent > MAX_MISSED) {
        this.#missing = null;
        this.#write(this.#reset(window));
        return;
      }
      const { messages, end } = window.page(from, this, PAGE_BYTES);
      if (end === null) messages.push(bookmark(window.id));
      const bytes = Buffer.concat(messages);
      this.#missing = end && { from: end, sent: sent + bytes.length };
      if (!this.#write(bytes) && end !== null) {
        this.#response.once('drain', () => this.#catchUp());
        return;
      }
    }
  }

  /**
   * Sends what is new; `upTo` is where that ends.
   * @returns false when the client is too far behind, and was dropped
   */
  send(bytes: Buffer, upTo?: Window): boolean {
    if (this.#after !== null && upTo && comparePlaces(upTo.last, this.#after) >= 0) this.#after = null;
    if (bytes.length === 0 || !this.isOpen) return true;
    if (this.#response.writableLength > MAX_BEHIND) {
      this.#response.destroy();
      countDropped();
      return false;
    }
    this.#write(bytes);
    return true;
  }

  /** Tells that events may be missing; from here on it is live. */
  sendReset(): boolean {
    this.#after = null;
    return this.send(this.#reset(this.#surroundings.window()));
  }

  get isOpen(): boolean {
    return !this.#response.destroyed && !this.#response.writableEnded;
  }

  /** Ends the stream after what was sent so far. @returns when it has ended */
  end(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const overdue = setTimeout(() => this.abort(), END_MS).unref();
    this.#response.once('close', () => {
      clearTimeout(overdue);
      resolve();
    });
    this.#response.end();
    return promise;
  }

  abort(): void {
    this.#response.destroy();
  }

  #write(bytes: Buffer): boolean {
    countStreamed(bytes.length);
    return this.#response.write(bytes);
  }

  #reset(window: Window): Buffer {
    countReset();
    return reset(window.id, this.#surroundings.now());
  }
}
