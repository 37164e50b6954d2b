import { type App, perApp } from '#platform/app.ts';
import { endedSessionsChannel, SessionStore } from './session-store.ts';

/** Interval at which the process looks for sessions that have expired, ms. */
const CHECK_MS = 500;
/** Interval at which the process reads all watched sessions, ms, because Redis may lose a message about an ended session. */
const READ_ALL_MS = 30_000;
/** Maximum concurrent reads of sessions, so that requests do not wait behind these reads. */
const MAX_CONCURRENT_READS = 20;

/** A session with open connections in this process. */
interface WatchedSession {
  /** Key of the session in the store. */
  readonly key: string;
  /** Time at which the session expires if no request extends it, ms since 1970; infinity before the session is read. */
  expiresAt: number;
  /** The functions that end the connections. */
  readonly ends: Set<() => void>;
}

/** The sessions that have open connections in this process. They share one Redis connection and the timers. */
class WatchedSessions {
  readonly #app: App;
  readonly #store: SessionStore;
  readonly #sessions = new Map<string, WatchedSession>();
  #isStarted = false;
  #isChecking = false;
  /** Whether the next check reads all sessions, because the process may have missed the end of a session. */
  #mustReadAll = false;

  constructor(app: App) {
    this.#app = app;
    this.#store = new SessionStore(app);
  }

  watch(key: string, end: () => void): () => void {
    this.#start();
    const session = this.#sessions.get(key) ?? { key, expiresAt: Number.POSITIVE_INFINITY, ends: new Set() };
    this.#sessions.set(key, session);
    session.ends.add(end);
    // Reads the session again, because it may have ended since its request was authenticated.
    this.#readInBackground([session]);
    return () => {
      session.ends.delete(end);
      if (session.ends.size === 0 && this.#sessions.get(key) === session) this.#sessions.delete(key);
    };
  }

  #start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    const readAllLater = () => {
      this.#mustReadAll = true;
    };
    const connection = this.#app.connect();
    connection.on('message', (_channel, keys: string) => {
      for (const key of keys.split(' ')) this.#end(key);
    });
    // A message that was published before the subscription is lost, so all sessions are read after each subscription.
    connection.on('ready', () => connection.subscribe(endedSessionsChannel(this.#app.config)).then(readAllLater, readAllLater));
    // A cluster that loses a node moves the subscription to another node.
    connection.on('-node', readAllLater);
    const timers = [setInterval(() => this.#check(), CHECK_MS), setInterval(readAllLater, READ_ALL_MS)];
    for (const timer of timers) timer.unref();
    connection.on('end', () => {
      for (const timer of timers) clearInterval(timer);
    });
  }

  /** Reads the sessions that may have ended, unless a check is running. */
  #check(): void {
    if (this.#isChecking) return;
    const now = this.#app.clock.now().getTime();
    const due = [...this.#sessions.values()].filter(({ expiresAt }) => this.#mustReadAll || expiresAt <= now);
    this.#mustReadAll = false;
    if (due.length === 0) return;
    this.#isChecking = true;
    this.#readInBackground(due, () => {
      this.#isChecking = false;
    });
  }

  #readInBackground(sessions: readonly WatchedSession[], afterwards: () => void = () => undefined): void {
    this.#read(sessions)
      // Usually Redis is unreachable. The connections stay open, and the next check reads all sessions again.
      .catch((err: unknown) => {
        this.#mustReadAll = true;
        this.#app.log.debug({ err }, 'the sessions of open connections cannot be read; the next check reads them again');
      })
      .finally(afterwards);
  }

  /** Reads sessions, and ends the connections of those that have ended. Stops at the first failure. */
  async #read(sessions: readonly WatchedSession[]): Promise<void> {
    const rest = sessions.values();
    const readNext = async () => {
      for (const session of rest) {
        const found = await this.#store.findByKey(session.key);
        if (found === null) this.#end(session.key);
        else session.expiresAt = found.expiresAt;
      }
    };
    await Promise.all(Array.from({ length: Math.min(MAX_CONCURRENT_READS, sessions.length) }, readNext));
  }

  #end(key: string): void {
    const session = this.#sessions.get(key);
    this.#sessions.delete(key);
    for (const end of session?.ends ?? []) end();
  }
}

const watchedSessions = perApp((app) => new WatchedSessions(app));

/**
 * Ends a connection when its session ends: within a second after a sign-out, a ban, the end of the session by its wallet, or its expiry. While Redis
 * cannot be reached, the connection stays open.
 * @param key key of the session; see `sessionKeyOf`
 * @param end ends the connection; called at most once
 * @returns a function that stops the watch; call it when the connection is closed
 */
export const watchSession = (app: App, key: string, end: () => void): (() => void) => app.state(watchedSessions).watch(key, end);
