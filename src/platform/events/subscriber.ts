import type { Socket } from 'node:net';
import { countStreamedBytes, countStreamReset, countSubscriberDropped } from '#platform/observability/metrics/metrics.ts';
import type { Batch } from './batch.ts';
import type { EventCatalog } from './event.ts';
import { type Bookmark, bookmark, heartbeat, opening, reset } from './frame.ts';
import { comparePositions } from './redis-stream.ts';
import type { Reader, ReplayBuffer } from './replay-buffer.ts';

/** Maximum unsent bytes per subscriber. A slower subscriber is disconnected; its client reconnects and resumes. */
const MAX_BACKLOG = 1024 * 1024;
/** Missed messages are sent in pages of this size, as fast as the client reads. Bytes. */
const PAGE_BYTES = 64 * 1024;
/** Maximum bytes of missed messages. A client that missed more receives a reset. */
const MAX_MISSED = 8 * 1024 * 1024;
/** Maximum time for a stream to end, ms. Without it, a client that does not read would keep its socket open. */
const END_MS = 30_000;

/** What a subscriber uses of its process. */
export interface SubscriberDeps {
  /** Returns the current replay buffer. */
  buffer(): ReplayBuffer;
  /** Returns the entries after the first `end` entries; null when the buffer no longer holds them. */
  since(end: number): Batch | null;
  now(): Date;
  readonly resetLinks: EventCatalog['resetLinks'];
}

/** One stream to one client. A process may have ten thousand, so a subscriber has no timer and no Redis connection. */
export class Subscriber implements Reader {
  readonly mask: number;
  readonly wallet: string | null;
  readonly sessionId: string | null;
  /** End of the stream, in the time of `performance.now()`. */
  readonly until: number;
  readonly #socket: Socket;
  readonly #deps: SubscriberDeps;
  /** A live subscriber has received the first `#end` entries of this buffer. */
  #buffer: ReplayBuffer | null = null;
  #end = 0;
  /** Progress of the replay of missed messages; null = the subscriber is live. */
  #replay: { from: Bookmark; sent: number } | null = null;
  /** The client received messages up to here from another process that read further; these are not sent again. */
  #after: Bookmark | null = null;

  constructor(socket: Socket, reader: Reader & { sessionId: string | null }, until: number, deps: SubscriberDeps) {
    this.mask = reader.mask;
    this.wallet = reader.wallet;
    this.sessionId = reader.sessionId;
    this.until = until;
    this.#socket = socket;
    this.#deps = deps;
  }

  /**
   * Starts the stream: live, with a replay of missed messages, or with a reset.
   * @param from 'now', the client's bookmark, or null when the bookmark is unknown
   */
  begin(from: Bookmark | 'now' | null): void {
    const buffer = this.#deps.buffer();
    const retryMs = 1_000 + Math.floor(3_000 * Math.random());
    if (from === 'now') this.#goLive(buffer, [opening(retryMs, 'live'), bookmark(buffer.id)]);
    else if (from === null || !buffer.covers(from)) this.#goLive(buffer, [opening(retryMs, 'reset'), this.#reset(buffer)]);
    else if (comparePositions(from, buffer.last) > 0) {
      this.#after = from;
      this.#goLive(buffer, [opening(retryMs, 'resumed')]);
    } else {
      this.#socket.write(opening(retryMs, 'resumed'));
      this.#replay = { from, sent: 0 };
      this.#catchUp();
    }
  }

  /** Ends the replay: from here on the subscriber receives new entries. */
  #goLive(buffer: ReplayBuffer, last: readonly Buffer[]): void {
    this.#replay = null;
    this.#buffer = buffer;
    this.#end = buffer.end;
    this.#write(Buffer.concat(last));
  }

  /** Replays missed messages page by page, as fast as the client reads. It goes live in the same tick as the last page, so no message is missed or sent twice. */
  #catchUp(): void {
    while (this.#replay !== null && this.#socket.writable) {
      const buffer = this.#deps.buffer();
      const { from, sent } = this.#replay;
      // A stream that ends before the bookmark lost its end in Redis, so messages may be missing.
      if (!buffer.covers(from) || comparePositions(from, buffer.last) > 0 || sent > MAX_MISSED) {
        this.#goLive(buffer, [this.#reset(buffer)]);
        return;
      }
      const { messages, end } = buffer.page(from, this, PAGE_BYTES);
      if (end === null) {
        this.#goLive(buffer, [...messages, bookmark(buffer.id)]);
        return;
      }
      const bytes = Buffer.concat(messages);
      this.#replay = { from: end, sent: sent + bytes.length };
      if (!this.#write(bytes)) {
        this.#socket.once('drain', () => this.#catchUp());
        return;
      }
    }
  }

  /**
   * Sends the entries since the last update, if the subscriber is live.
   * @returns false when the backlog was too large and the client was disconnected
   */
  update(): boolean {
    const buffer = this.#deps.buffer();
    if (this.#replay !== null || (this.#buffer === buffer && this.#end === buffer.end)) return true;
    const batch = this.#buffer === buffer ? this.#deps.since(this.#end) : null;
    this.#buffer = buffer;
    this.#end = buffer.end;
    const bytes = batch === null ? this.#reset(buffer) : batch(this, this.#after);
    if (batch === null || (this.#after !== null && comparePositions(buffer.last, this.#after) >= 0)) this.#after = null;
    return this.#send(bytes);
  }

  /** Sends a heartbeat, with the id of the last entry if the subscriber has received all entries. @returns the same as `update` */
  sendHeartbeat(): boolean {
    if (!this.update()) return false;
    const isUpToDate = this.#replay === null && this.#after === null;
    return this.#send(heartbeat(isUpToDate ? this.#deps.buffer().id : null));
  }

  #send(bytes: Buffer): boolean {
    if (bytes.length === 0 || !this.#socket.writable) return true;
    if (this.#socket.writableLength > MAX_BACKLOG) {
      // A reset, not a close: the kernel would hold megabytes of unsent data for minutes.
      this.#socket.resetAndDestroy();
      countSubscriberDropped();
      return false;
    }
    this.#write(bytes);
    return true;
  }

  #write(bytes: Buffer): boolean {
    countStreamedBytes(bytes.length);
    return this.#socket.write(bytes);
  }

  /** Ends the stream after all data was sent. Resolves when the socket is closed. */
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

  #reset(buffer: ReplayBuffer): Buffer {
    countStreamReset();
    return reset(buffer.id, this.#deps.now(), this.#deps.resetLinks);
  }
}
