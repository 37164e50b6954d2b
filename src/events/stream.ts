import type { ServerResponse } from 'node:http';
import { setImmediate as breathe, setTimeout as sleep } from 'node:timers/promises';
import type { App } from '../context.ts';
import { SessionStore } from '../http/session-store.ts';
import { unavailable } from '../lib/errors.ts';
import { composeBatch } from './batch.ts';
import { comparePlaces, type Entry, feedKey, readTail } from './feed.ts';
import { Follower } from './follower.ts';
import { type Bookmark, heartbeat, parseId } from './frame.ts';
import { Subscriber, type Surroundings } from './subscriber.ts';
import type { Reader, Window } from './window.ts';

const MAX_SUBSCRIBERS = 20_000;
/** Subscribers written to before other work of the process gets its turn. */
const SLICE = 500;
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
  readonly #times: StreamTimes;
  readonly #subscribers = new Set<Subscriber>();
  readonly #byWallet = new Map<string, Set<Subscriber>>();
  readonly #surroundings: Surroundings;
  #follower: Follower | null = null;
  /** What all subscribers have been told of, or are being told in this turn. */
  #window: Window | null = null;
  #timers: NodeJS.Timeout[] = [];
  #draining = false;
  #lastTurn: Promise<void> = Promise.resolve();

  constructor(app: App, times: Partial<StreamTimes> = {}) {
    this.#app = app;
    this.#times = { ...TIMES, ...times };
    this.#surroundings = {
      window: () => {
        if (this.#window === null) throw new Error('no stream begins before the feed was read');
        return this.#window;
      },
      now: () => app.clock.now(),
    };
  }

  get size(): number {
    return this.#subscribers.size;
  }

  /**
   * Prepares a stream.
   * @returns what takes the response over and begins
   * @throws 503 while Redis is not reachable, or when there are too many streams, or the process stops
   */
  async open(subscription: Subscription): Promise<(response: ServerResponse) => void> {
    if (this.#draining) throw unavailable('the service is stopping, connect again');
    if (this.#subscribers.size >= MAX_SUBSCRIBERS) throw unavailable('there are too many streams, try again', 5);
    await this.#start().ready();
    const window = this.#window;
    const from = subscription.lastEventId === null ? null : parseId(subscription.lastEventId);
    // Another process may have shown more than this one has read so far; nobody can have seen more than is in the feed.
    if (window && from?.epoch === window.epoch && comparePlaces(from, window.last) > 0) {
      const tail = await readTail(this.#app.redis, feedKey(this.#app.config));
      if (tail?.epoch !== from.epoch || comparePlaces(from, tail) > 0) return (response) => this.#join(response, subscription, null);
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

  #start(): Follower {
    if (this.#follower) return this.#follower;
    const follower = new Follower(this.#app, {
      arrived: (window, entries) => this.#inTurn(isLive, () => this.#arrived(window, entries)),
      replaced: (window) => this.#inTurn(isLive, () => this.#replaced(window)),
    });
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
    every(this.#times.heartbeatMs, () => this.#inTurn(isAny, () => this.#beat(follower)));
    every(this.#times.sessionsMs, () => this.#checkSessions());
    this.#follower = follower;
    return follower;
  }

  #join(response: ServerResponse, subscription: Subscription, from: Bookmark | null): void {
    response.on('error', ignore);
    if (response.destroyed) return;
    // The process stops just now.
    if (this.#draining) return void response.end();
    const until = performance.now() + this.#times.rotateMs * (0.9 + 0.2 * Math.random());
    const subscriber = new Subscriber(response, subscription, until, this.#surroundings);
    this.#subscribers.add(subscriber);
    if (subscriber.wallet !== null) {
      const streams = this.#byWallet.get(subscriber.wallet);
      if (streams) streams.add(subscriber);
      else this.#byWallet.set(subscriber.wallet, new Set([subscriber]));
    }
    response.on('close', () => this.#leave(subscriber));
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

  /**
   * Does something to all subscribers of this moment, after whatever is being done to them now: order holds,
   * and who becomes live in between has from the window what this turn brings the others.
   */
  #inTurn(which: (subscriber: Subscriber) => boolean, prepare: () => (subscriber: Subscriber) => void): Promise<void> {
    const turn = this.#lastTurn.then(async () => {
      const act = prepare();
      let done = 0;
      for (const subscriber of [...this.#subscribers].filter(which)) {
        act(subscriber);
        if (++done % SLICE === 0) await breathe();
      }
    });
    this.#lastTurn = turn.catch(() => undefined);
    return turn;
  }

  #arrived(window: Window, entries: readonly Entry[]): (subscriber: Subscriber) => void {
    const items = entries.map((entry) => window.push(entry));
    const bytesFor = composeBatch(window.epoch, items, (wallet) => this.#byWallet.has(wallet));
    return (subscriber) => {
      if (!subscriber.send(bytesFor(subscriber, subscriber.after), window)) this.#leave(subscriber);
    };
  }

  #replaced(window: Window): (subscriber: Subscriber) => void {
    this.#window = window;
    return (subscriber) => {
      if (!subscriber.sendReset()) this.#leave(subscriber);
    };
  }

  #beat(follower: Follower): (subscriber: Subscriber) => void {
    follower.check();
    const now = performance.now();
    const plain = heartbeat(null);
    const full = heartbeat(this.#window?.id ?? null);
    return (subscriber) => {
      if (now > subscriber.until) void this.#end(subscriber);
      else if (!subscriber.send(subscriber.isLive && subscriber.after === null ? full : plain)) this.#leave(subscriber);
    };
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

const ignore = () => undefined;
const isAny = () => true;
const isLive = (subscriber: Subscriber) => subscriber.isLive;

const all = new WeakMap<App, Streams>();

/** The event streams of a process. @param times those of the first call count */
export function streamsOf(app: App, times?: Partial<StreamTimes>): Streams {
  const known = all.get(app) ?? new Streams(app, times);
  all.set(app, known);
  return known;
}

/** Ends all event streams of a process that stops; call it before `server.close()`, which would wait for them. */
export const drainStreams = (app: App): Promise<void> => streamsOf(app).drain();
