import type { Socket } from 'node:net';
import { countStreamedBytes, countStreamReset, countSubscriberDropped } from '#platform/observability/metrics/metrics.ts';
import type { Batch } from './batch.ts';
import type { EventCatalog } from './event.ts';
import { type Bookmark, bookmark, heartbeat, opening, reset } from './frame.ts';
import { comparePositions } from './redis-stream.ts';
import type { Reader, ReplayBuffer } from './replay-buffer.ts';

/** Maximum unsent bytes per subscriber. A subscriber that exceeds the maximum is disconnected; its client reconnects and resumes. */
const MAX_BACKLOG = 1024 * 1024;
/** Approximate size of a page of missed messages, bytes. The next page is sent when the client has read the previous one. */
const PAGE_BYTES = 64 * 1024;
/** Maximum bytes of missed messages that are sent after a reconnect. A client that missed more receives a reset. */
const MAX_MISSED = 8 * 1024 * 1024;
/** Maximum time for a stream to end, ms. Then the socket is destroyed, because a client that does not read would keep it open. */
const END_MS = 30_000;

/** The functions and data of the process that a subscriber uses. */
export interface SubscriberDeps {
  /** Returns the current replay buffer. */
  buffer(): ReplayBuffer;
  /** Returns the batch of all entries after the first `end` entries; null when the buffer no longer holds them. */
  since(end: number): Batch | null;
  now(): Date;
  readonly resetLinks: EventCatalog['resetLinks'];
}

/** One event stream to one client. A process may have thousands of subscribers, so a subscriber has no timer of its own and no Redis connection. */
export class Subscriber implements Reader {
  readonly mask: number;
  readonly wallet: string | null;
  /** Time at which the stream ends, in the time of `performance.now()`, ms. */
  readonly until: number;
  readonly #socket: Socket;
  readonly #deps: SubscriberDeps;
  /** Buffer of which a live subscriber has received the first `#end` entries. */
  #buffer: ReplayBuffer | null = null;
  #end = 0;
  /** Progress of the replay of missed messages; null = the subscriber is live. */
  #replay: { from: Bookmark; sent: number } | null = null;
  /**
   * Position up to which the client has received messages from another process that had read more of the Redis stream than this process. Messages up
   * to this position are not sent again. null = the client has received no message that this process has not read yet.
   */
  #after: Bookmark | null = null;

  constructor(socket: Socket, reader: Reader, until: number, deps: SubscriberDeps) {
    this.mask = reader.mask;
    this.wallet = reader.wallet;
    this.until = until;
    this.#socket = socket;
    this.#deps = deps;
  }

  /**
   * Starts the stream with new events only, with a replay of missed messages, or with a reset.
   * @param from 'now' = new events only; a bookmark = the last position that the client received; null = that position is unknown, so the client
   * receives a reset
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

  /**
   * Makes the subscriber live: from here on it receives new entries.
   * @param last the messages to send before the new entries
   */
  #goLive(buffer: ReplayBuffer, last: readonly Buffer[]): void {
    this.#replay = null;
    this.#buffer = buffer;
    this.#end = buffer.end;
    this.#write(Buffer.concat(last));
  }

  /**
   * Replays missed messages page by page, as fast as the client reads. The subscriber becomes live in the same event-loop tick in which it gets the
   * last page, so no message is missed or sent twice.
   */
  #catchUp(): void {
    while (this.#replay !== null && this.#socket.writable) {
      const buffer = this.#deps.buffer();
      const { from, sent } = this.#replay;
      // If the Redis stream ends before the client's bookmark, Redis has lost the newest entries, so messages may be missing.
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
   * Sends the entries that arrived since the last update, if the subscriber is live.
   * @returns false when the client had too many unsent bytes and was disconnected
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

  /**
   * Sends a heartbeat. It carries the id of the last entry if the subscriber has received all entries.
   * @returns false when the client had too many unsent bytes and was disconnected
   */
  sendHeartbeat(): boolean {
    if (!this.update()) return false;
    const isUpToDate = this.#replay === null && this.#after === null;
    return this.#send(heartbeat(isUpToDate ? this.#deps.buffer().id : null));
  }

  #send(bytes: Buffer): boolean {
    if (bytes.length === 0 || !this.#socket.writable) return true;
    if (this.#socket.writableLength > MAX_BACKLOG) {
      // Resets the TCP connection. After a normal close, the kernel would hold megabytes of unsent data for minutes.
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

  /** Ends the stream after all data was sent, or after END_MS. Resolves when the socket is closed. */
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
