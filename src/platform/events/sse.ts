import type { ServerResponse } from 'node:http';
import { setImmediate as breathe, setTimeout as sleep } from 'node:timers/promises';
import { unavailable } from '#lib/errors.ts';
import { openFileLimit } from '#lib/open-files.ts';
import { type App, perApp } from '#platform/app.ts';
import { SessionStore } from '#platform/auth/session-store.ts';
import { detachSocket } from '#platform/http/detach-socket.ts';
import { type Batch, composeBatch } from './batch.ts';
import { type Bookmark, parseId } from './frame.ts';
import { comparePositions, eventStreamKey, readTail } from './redis-stream.ts';
import type { Reader, ReplayBuffer } from './replay-buffer.ts';
import { StreamReader } from './stream-reader.ts';
import { Subscriber, type SubscriberDeps } from './subscriber.ts';

/** More streams are refused; so are those that would leave other requests too few of the files that a process may open. */
const MAX_SUBSCRIBERS = 20_000;
const SHARE_OF_FILES = 0.75;
/** Subscribers written to before other work of the process gets its turn. */
const SLICE = 200;
/** A round that took longer than this is followed by a pause of a share of its time, for the other work of the process; ms. */
const BUSY_MS = 5;
const PAUSE_SHARE = 1 / 8;
const MAX_PAUSE_MS = 100;
/** Sessions that are asked for at the same time: requests must not wait behind them. */
const SESSIONS_AT_ONCE = 20;
/** How long streams may take to end when the process stops, ms. */
const DRAIN_MS = 2_000;

/** The times of the streams, ms. */
export interface StreamTimes {
  readonly heartbeatMs: number;
  /** Connections end after this long ± 10 %, so that a deployment looks like any other day. */
  readonly rotateMs: number;
  /** How soon after its session a stream ends, at the latest. */
  readonly sessionsMs: number;
}
const TIMES: StreamTimes = { heartbeatMs: 15_000, rotateMs: 600_000, sessionsMs: 30_000 };

/** Who wants a stream. */
export interface Subscription extends Reader {
  /** The session's id, where there is one. */
  readonly sessionId: string | null;
  /** As the client gave it; null = from now on. */
  readonly lastEventId: string | null;
}

/** All event streams of one process. They share one connection to Redis, one timer, and every encoded message. */
export class Streams {
  readonly #app: App;
  #times: StreamTimes = TIMES;
  readonly #subscribers = new Set<Subscriber>();
  readonly #byWallet = new Map<string, Set<Subscriber>>();
  readonly #surroundings: SubscriberDeps;
  readonly #most = Math.min(MAX_SUBSCRIBERS, SHARE_OF_FILES * openFileLimit());
  #follower: StreamReader | null = null;
  /** What subscribers have been told of, or are being told. */
  #window: ReplayBuffer | null = null;
  /** What live subscribers are sent, by how much of the window they have; as long as it does not grow. */
  readonly #batches = new Map<number, Batch | null>();
  /** How often the window has changed. */
  #changes = 0;
  #delivering = false;
  #timers: NodeJS.Timeout[] = [];
  #draining = false;

  constructor(app: App) {
    this.#app = app;
    this.#surroundings = {
      window: () => {
        if (this.#window === null) throw new Error('no stream begins before the feed was read');
        return this.#window;
      },
      since: (end) => this.#since(end),
      now: () => app.clock.now(),
      resetLinks: app.events.resetLinks,
    };
  }

  /** Changes the times. Precondition: no stream was opened yet. */
  setTimes(times: Partial<StreamTimes>): void {
    this.#times = { ...TIMES, ...times };
  }

  get size(): number {
    return this.#subscribers.size;
  }

  /**
   * Prepares a stream.
   * @returns what takes the response over and begins
   * @throws 503 while Redis is not reachable, or when there are too many streams, or the process stops
   */
  async open(subscription: Subscription): Promise<(response: ServerResponse) => Promise<void>> {
    if (this.#draining) throw unavailable('the service is stopping, connect again');
    if (this.#subscribers.size >= this.#most) throw unavailable('there are too many streams, try again', 5);
    await this.#start().ready();
    const window = this.#window;
    const from = subscription.lastEventId === null ? null : parseId(subscription.lastEventId);
    // Another process may have shown more than this one has read so far; nobody can have seen more than is in the feed.
    if (window && from?.epoch === window.epoch && comparePositions(from, window.last) > 0) {
      const tail = await readTail(this.#app.redis, eventStreamKey(this.#app.config));
      if (tail?.epoch !== from.epoch || comparePositions(from, tail) > 0) return (response) => this.#join(response, subscription, null);
    }
    return (response) => this.#join(response, subscription, from);
  }

  /** Ends all streams; their clients connect again, elsewhere. New ones are refused. */
  async drain(): Promise<void> {
    this.#draining = true;
    for (const timer of this.#timers) clearInterval(timer);
    const open = [...this.#subscribers];
    const ended = open.map((subscriber) => this.#end(subscriber));
    const timeout = new AbortController();
    await Promise.race([Promise.all(ended), sleep(DRAIN_MS, undefined, { signal: timeout.signal }).catch(() => undefined)]);
    timeout.abort();
    for (const subscriber of open) subscriber.abort();
    this.#follower?.close();
  }

  #start(): StreamReader {
    if (this.#follower) return this.#follower;
    const follower = new StreamReader(this.#app, (window) => this.#changed(window));
    const every = (ms: number, work: () => Promise<void>) => {
      let working = false;
      const tick = async () => {
        if (working) return;
        working = true;
        await work().catch((err: unknown) => this.#app.log.error({ err }, 'event streams'));
        working = false;
      };
      this.#timers.push(setInterval(() => (follower.closed ? void this.drain() : void tick()), ms).unref());
    };
    every(this.#times.heartbeatMs, () => this.#beat(follower));
    every(this.#times.sessionsMs, () => this.#checkSessions());
    this.#follower = follower;
    return follower;
  }

  async #join(response: ServerResponse, subscription: Subscription, from: Bookmark | null): Promise<void> {
    const socket = await detachSocket(response);
    if (socket === null) return;
    // The process stops just now.
    if (this.#draining) return void socket.end();
    const until = performance.now() + this.#times.rotateMs * (0.9 + 0.2 * Math.random());
    const subscriber = new Subscriber(socket, subscription, until, this.#surroundings);
    this.#subscribers.add(subscriber);
    if (subscriber.wallet !== null) {
      const streams = this.#byWallet.get(subscriber.wallet);
      if (streams) streams.add(subscriber);
      else this.#byWallet.set(subscriber.wallet, new Set([subscriber]));
    }
    socket.on('close', () => this.#leave(subscriber));
    subscriber.begin(subscription.lastEventId === null ? 'now' : from);
  }

  #leave(subscriber: Subscriber): void {
    this.#subscribers.delete(subscriber);
    if (subscriber.wallet === null) return;
    const streams = this.#byWallet.get(subscriber.wallet);
    streams?.delete(subscriber);
    if (streams?.size === 0) this.#byWallet.delete(subscriber.wallet);
  }

  #end(subscriber: Subscriber): Promise<void> {
    this.#leave(subscriber);
    return subscriber.end();
  }

  #changed(window: ReplayBuffer): void {
    this.#window = window;
    this.#batches.clear();
    this.#changes++;
    if (!this.#delivering) void this.#deliver();
  }

  #since(end: number): Batch | null {
    const known = this.#batches.get(end);
    if (known !== undefined) return known;
    const batch = this.#compose(end);
    this.#batches.set(end, batch);
    return batch;
  }

  #compose(end: number): Batch | null {
    const items = this.#window?.since(end) ?? null;
    if (this.#window === null || items === null) return null;
    try {
      return composeBatch(this.#app.events.batched, this.#window.epoch, items, (wallet) => this.#byWallet.has(wallet));
    } catch (err) {
      this.#app.log.error({ err }, 'events could not be delivered');
      return null;
    }
  }

  /**
   * Goes round the subscribers until all have what is known. Who is reached later gets what came meanwhile in the same write:
   * nobody waits for longer than a round, and the longer it takes the fewer writes there are.
   */
  async #deliver(): Promise<void> {
    this.#delivering = true;
    for (let told = -1; told !== this.#changes; ) {
      told = this.#changes;
      const began = performance.now();
      await this.#each((subscriber) => subscriber.update());
      const took = performance.now() - began;
      if (took > BUSY_MS) await sleep(Math.min(PAUSE_SHARE * took, MAX_PAUSE_MS));
    }
    this.#delivering = false;
  }

  async #beat(follower: StreamReader): Promise<void> {
    follower.check();
    const now = performance.now();
    await this.#each((subscriber) => {
      if (now <= subscriber.until) return subscriber.beat();
      void this.#end(subscriber);
      return true;
    });
  }

  /** Does something to every subscriber, who leaves when it returns false; other work of the process gets its turn in between. */
  async #each(act: (subscriber: Subscriber) => boolean): Promise<void> {
    let done = 0;
    for (const subscriber of this.#subscribers) {
      if (!this.#stays(subscriber, act)) this.#leave(subscriber);
      if (++done % SLICE === 0) await breathe();
    }
  }

  /** Whom something cannot be told holds up nobody: it is cut off, and comes back to where it was. */
  #stays(subscriber: Subscriber, act: (subscriber: Subscriber) => boolean): boolean {
    try {
      return act(subscriber);
    } catch (err) {
      this.#app.log.error({ err }, 'a stream could not be told of events');
      subscriber.abort();
      return false;
    }
  }

  /** Ends the streams of sessions that are over; their clients come back as who they are now. */
  async #checkSessions(): Promise<void> {
    const sessions = new SessionStore(this.#app);
    const signedIn = [...this.#subscribers].filter((subscriber) => subscriber.sessionId !== null);
    for (let i = 0; i < signedIn.length; i += SESSIONS_AT_ONCE) {
      await Promise.all(
        signedIn.slice(i, i + SESSIONS_AT_ONCE).map(async (subscriber) => {
          // While nobody can tell, the stream goes on.
          const session = await sessions.find(subscriber.sessionId ?? '').catch(() => undefined);
          if (session === null) void this.#end(subscriber);
        }),
      );
    }
  }
}

const streams = perApp((app) => new Streams(app));

/** Returns the event streams of this application. */
export const streamsOf = (app: App): Streams => app.state(streams);

/** Ends all event streams of a process that stops. Call it before `server.close()`, which would wait for them. */
export const drainStreams = (app: App): Promise<void> => streamsOf(app).drain();
