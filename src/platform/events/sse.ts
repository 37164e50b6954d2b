import type { ServerResponse } from 'node:http';
import { setTimeout as sleep, setImmediate as yieldToOthers } from 'node:timers/promises';
import { type HttpError, unavailable } from '#lib/errors.ts';
import { type App, perApp } from '#platform/app.ts';
import { watchSession } from '#platform/auth/watched-sessions.ts';
import { detachSocket } from '#platform/http/detach-socket.ts';
import { inFlightOf } from '#platform/http/in-flight.ts';
import { type Batch, composeBatch } from './batch.ts';
import { type Bookmark, parseId } from './frame.ts';
import { comparePositions, eventStreamKey, readTail } from './redis-stream.ts';
import type { Reader, ReplayBuffer } from './replay-buffer.ts';
import { StreamReader } from './stream-reader.ts';
import { maxStreams, streamRefusal } from './stream-shares.ts';
import { Subscriber, type SubscriberDeps } from './subscriber.ts';

/** Number of subscribers that the process serves before it yields to its other work. */
const SLICE = 200;
/** Maximum duration of a delivery to all subscribers, ms. After a longer delivery, the process pauses deliveries to do its other work. */
const BUSY_MS = 5;
/** Minimum length of the pause after a long delivery, as a share of the duration of that delivery, and the maximum length of the pause, ms. */
const PAUSE_SHARE = 1 / 8;
const MAX_PAUSE_MS = 100;
/** Maximum time that the process waits for streams to end when it stops, ms. */
const DRAIN_MS = 2_000;

/** Intervals of the streams, ms. */
export interface StreamTimes {
  readonly heartbeatMs: number;
  /** Maximum age of a connection, ± 10 %. All clients reconnect regularly, so the reconnects during a deployment are nothing unusual for them. */
  readonly rotateMs: number;
}
const TIMES: StreamTimes = { heartbeatMs: 15_000, rotateMs: 600_000 };

/** The parameters of a new stream. */
export interface Subscription extends Reader {
  /** The key of the session; null = anonymous. */
  readonly sessionKey: string | null;
  /** The client's `Last-Event-ID`; null = new events only. */
  readonly lastEventId: string | null;
}

/** Returns the CPU time that this process has used, ms. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** All event streams of one process. The streams share one Redis connection, the timers and the encoded messages. */
class Streams {
  readonly #app: App;
  #times: StreamTimes = TIMES;
  readonly #subscribers = new Set<Subscriber>();
  readonly #byWallet = new Map<string, Set<Subscriber>>();
  readonly #deps: SubscriberDeps;
  #max = maxStreams();
  #anonymous = 0;
  #reader: StreamReader | null = null;
  /** The buffer whose entries are delivered to the subscribers. */
  #buffer: ReplayBuffer | null = null;
  /** Batches for live subscribers. Key: the number of entries that the subscriber has received so far. Cleared when the buffer grows. */
  readonly #batches = new Map<number, Batch | null>();
  /** Number of times that the buffer has grown or was replaced. */
  #changes = 0;
  #delivering = false;
  #timers: NodeJS.Timeout[] = [];
  #draining = false;

  constructor(app: App) {
    this.#app = app;
    this.#deps = {
      buffer: () => {
        if (this.#buffer === null) throw new Error('a subscriber was added before the events were loaded from Redis');
        return this.#buffer;
      },
      since: (end) => this.#since(end),
      now: () => app.clock.now(),
      resetLinks: app.events.resetLinks,
    };
  }

  /** Changes the intervals of the streams. Precondition: no stream was opened yet. */
  setTimes(times: Partial<StreamTimes>): void {
    this.#times = { ...TIMES, ...times };
  }

  /** Changes the maximum number of streams. */
  setMax(streams: number): void {
    this.#max = streams;
  }

  get size(): number {
    return this.#subscribers.size;
  }

  /** Number of streams without a session. */
  get anonymous(): number {
    return this.#anonymous;
  }

  /** Returns the error of another stream that exceeds a bound; null when the stream may open. @param wallet null = without a session */
  #refusalOf(wallet: string | null): HttpError | null {
    const own = wallet === null ? null : (this.#byWallet.get(wallet)?.size ?? 0);
    return streamRefusal(this.#max, { all: this.#subscribers.size, anonymous: this.#anonymous, wallet: own });
  }

  /**
   * Prepares a stream.
   * @returns a function that takes over the response and starts the stream
   * @throws 429 when the wallet has too many streams; 503 while Redis is unreachable, when there are too many streams, or when the process stops
   */
  async open(subscription: Subscription): Promise<(response: ServerResponse) => Promise<void>> {
    if (this.#draining) throw unavailable('the service is stopping, connect again');
    const refusal = this.#refusalOf(subscription.wallet);
    if (refusal) {
      await inFlightOf(this.#app).delayRefusal('stream', refusal.status === 429 ? 'caller' : 'total');
      throw refusal;
    }
    await this.#start().ready();
    const buffer = this.#buffer;
    const from = subscription.lastEventId === null ? null : parseId(subscription.lastEventId);
    // The client's id may be newer than this process's buffer, because another process has read more of the Redis stream. An id beyond the end of the
    // Redis stream is invalid, so the client receives a reset.
    if (buffer && from?.epoch === buffer.epoch && comparePositions(from, buffer.last) > 0) {
      const tail = await readTail(this.#app.redis, eventStreamKey(this.#app.config));
      if (tail?.epoch !== from.epoch || comparePositions(from, tail) > 0) return (response) => this.#join(response, subscription, null);
    }
    return (response) => this.#join(response, subscription, from);
  }

  /** Ends all streams and rejects new ones. The clients reconnect to another process. */
  async drain(): Promise<void> {
    this.#draining = true;
    for (const timer of this.#timers) clearInterval(timer);
    const open = [...this.#subscribers];
    const ended = open.map((subscriber) => this.#end(subscriber));
    const timeout = new AbortController();
    await Promise.race([Promise.all(ended), sleep(DRAIN_MS, undefined, { signal: timeout.signal }).catch(() => undefined)]);
    timeout.abort();
    for (const subscriber of open) subscriber.abort();
    this.#reader?.close();
  }

  #start(): StreamReader {
    if (this.#reader) return this.#reader;
    const reader = new StreamReader(this.#app, (buffer) => this.#changed(buffer));
    const every = (ms: number, work: () => Promise<void>) => {
      let working = false;
      const tick = () => {
        if (working) return;
        working = true;
        (reader.closed ? this.drain() : work())
          .catch((err: unknown) => this.#app.log.error({ err }, 'a periodic task of the event streams failed; it runs again'))
          .finally(() => {
            working = false;
          });
      };
      this.#timers.push(setInterval(tick, ms).unref());
    };
    every(this.#times.heartbeatMs, () => this.#sendHeartbeats(reader));
    this.#reader = reader;
    return reader;
  }

  async #join(response: ServerResponse, subscription: Subscription, from: Bookmark | null): Promise<void> {
    const socket = await detachSocket(response);
    if (socket === null) return;
    // `drain` was called during the await, or other streams were opened. The client connects again.
    if (this.#draining || this.#refusalOf(subscription.wallet)) return void socket.end();
    const until = performance.now() + this.#times.rotateMs * (0.9 + 0.2 * Math.random());
    const subscriber = new Subscriber(socket, subscription, until, this.#deps);
    this.#subscribers.add(subscriber);
    if (subscriber.wallet === null) this.#anonymous++;
    else {
      const streams = this.#byWallet.get(subscriber.wallet);
      if (streams) streams.add(subscriber);
      else this.#byWallet.set(subscriber.wallet, new Set([subscriber]));
    }
    socket.on('close', () => this.#leave(subscriber));
    // The client of a stream whose session has ended reconnects with its current session.
    if (subscription.sessionKey !== null)
      socket.on(
        'close',
        watchSession(this.#app, subscription.sessionKey, () => this.#endInBackground(subscriber)),
      );
    subscriber.begin(subscription.lastEventId === null ? 'now' : from);
  }

  #leave(subscriber: Subscriber): void {
    if (!this.#subscribers.delete(subscriber)) return;
    if (subscriber.wallet === null) {
      this.#anonymous--;
      return;
    }
    const streams = this.#byWallet.get(subscriber.wallet);
    streams?.delete(subscriber);
    if (streams?.size === 0) this.#byWallet.delete(subscriber.wallet);
  }

  #end(subscriber: Subscriber): Promise<void> {
    this.#leave(subscriber);
    return subscriber.end();
  }

  #endInBackground(subscriber: Subscriber): void {
    this.#end(subscriber).catch(() => subscriber.abort());
  }

  #changed(buffer: ReplayBuffer): void {
    this.#buffer = buffer;
    this.#batches.clear();
    this.#changes++;
    if (this.#delivering) return;
    this.#deliver().catch((err: unknown) => this.#app.log.error({ err }, 'events cannot be delivered to the streams of this process'));
  }

  #since(end: number): Batch | null {
    const known = this.#batches.get(end);
    if (known !== undefined) return known;
    const batch = this.#compose(end);
    this.#batches.set(end, batch);
    return batch;
  }

  #compose(end: number): Batch | null {
    const items = this.#buffer?.since(end) ?? null;
    if (this.#buffer === null || items === null) return null;
    try {
      return composeBatch(this.#app.events.batched, this.#buffer.epoch, items, (wallet) => this.#byWallet.has(wallet));
    } catch (err) {
      this.#app.log.error({ err }, 'a batch of events cannot be composed; subscribers receive a reset');
      return null;
    }
  }

  /**
   * Updates the subscribers until each of them has received the newest entry. A subscriber whose turn is late receives all entries that have arrived
   * by then in one write, so a slow delivery makes fewer writes. The pause after a delivery is as long as the time for which other processes had the core
   * meanwhile, for example another API process or clients on this machine, so that they can do their work.
   */
  async #deliver(): Promise<void> {
    this.#delivering = true;
    for (let delivered = -1; delivered !== this.#changes; ) {
      delivered = this.#changes;
      const [began, cpuBefore] = [performance.now(), cpuMs()];
      await this.#each((subscriber) => subscriber.update());
      const took = performance.now() - began;
      const withoutCore = took - (cpuMs() - cpuBefore);
      if (took > BUSY_MS) await sleep(Math.min(Math.max(PAUSE_SHARE * took, withoutCore), MAX_PAUSE_MS));
    }
    this.#delivering = false;
  }

  async #sendHeartbeats(reader: StreamReader): Promise<void> {
    reader.check();
    const now = performance.now();
    await this.#each((subscriber) => {
      if (now <= subscriber.until) return subscriber.sendHeartbeat();
      this.#endInBackground(subscriber);
      return true;
    });
  }

  /**
   * Calls a function for every subscriber, and removes a subscriber for which the function returns false. Yields to other work of the process after
   * every SLICE subscribers.
   */
  async #each(act: (subscriber: Subscriber) => boolean): Promise<void> {
    let done = 0;
    for (const subscriber of this.#subscribers) {
      if (!this.#applyTo(subscriber, act)) this.#leave(subscriber);
      if (++done % SLICE === 0) await yieldToOthers();
    }
  }

  /**
   * Calls a function for one subscriber. Disconnects the subscriber when the function throws, so that the other subscribers are not delayed; the
   * client reconnects and resumes.
   */
  #applyTo(subscriber: Subscriber, act: (subscriber: Subscriber) => boolean): boolean {
    try {
      return act(subscriber);
    } catch (err) {
      this.#app.log.error({ err }, 'events cannot be written to a stream; the service closes the stream');
      subscriber.abort();
      return false;
    }
  }
}

const streams = perApp((app) => new Streams(app));

/** Returns the event streams of this application. */
export const streamsOf = (app: App): Streams => app.state(streams);

/** Ends all event streams of a process that stops. Call this function before `server.close()`, which would wait for the streams. */
export const drainStreams = (app: App): Promise<void> => streamsOf(app).drain();
