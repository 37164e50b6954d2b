import { type RawData, WebSocket } from 'ws';
import { z } from 'zod';
import { unavailable } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import {
  ENDED_HOLDER,
  type GapCause,
  maxSilenceMs,
  type PlaySession,
  readPlaySession,
  recordGap,
  type SessionTiming,
  savePlaySession,
} from './play-session.ts';
import type { Presence } from './presence.ts';

/** Codes with which the service closes a session's socket (RFC 6455; codes from 4000 on are specific to this service). */
const CLOSE = { over: 1000, protocol: 1008, restart: 1012, takenOver: 4001, newerPlay: 4002, signedOut: 4003, silent: 4008 } as const;
/** Maximum messages that a socket may send in 10 s. */
const MAX_MESSAGES = 20;
const MESSAGE_WINDOW_MS = 10_000;
/** Maximum duration of the closing handshake of a socket, ms. */
const CLOSE_TIMEOUT_MS = 1_000;
/** Maximum attempts to claim a session while other processes claim the same session. */
const MAX_CLAIM_ATTEMPTS = 5;

const Heartbeat = z.strictObject({ type: z.literal('heartbeat') });

/** The play of a session. Instants are ms since 1970. */
export interface SessionPlay {
  id: string;
  startedAt: number;
  /** Latest end of the play: its start plus the maximum duration of a play in its game. */
  endsAt: number;
  /** Time after which Redis deletes the session, ms, counted from the last save. */
  keepMs: number;
}

/** A session whose socket this process holds, or whose end this process has not saved to Redis yet. */
interface OpenSession {
  readonly play: SessionPlay;
  state: PlaySession;
  socket: WebSocket | null;
  /** Time of the last counted heartbeat, ms of the monotonic clock. */
  countedAt: number;
  /** Time of the last sign of life (an opened socket or a counted heartbeat), ms of the monotonic clock. */
  lastSignAt: number;
  /** Timer that closes a silent socket. */
  silence: NodeJS.Timeout | undefined;
  unsaved: boolean;
  saving: Promise<void> | null;
}

/**
 * The sessions whose sockets this process holds. The state in memory is authoritative, and Redis has a copy for other processes. So a session
 * survives an outage or a data loss of Redis.
 */
export class HeldSessions {
  readonly #app: App;
  readonly #presence: Presence;
  readonly #timing: SessionTiming;
  readonly #sessions = new Map<string, OpenSession>();
  stopping = false;

  constructor(app: App, presence: Presence, timing: SessionTiming) {
    this.#app = app;
    this.#presence = presence;
    this.#timing = timing;
  }

  #now(): number {
    return this.#app.clock.now().getTime();
  }

  /**
   * Makes this process the holder of a play's session. If the session was silent for too long before the claim, records this silence.
   * @throws 503 when another process claims the session during every attempt
   */
  async claim(play: SessionPlay): Promise<PlaySession> {
    const { redis, config } = this.#app;
    for (let tries = 0; tries < MAX_CLAIM_ATTEMPTS; tries++) {
      const known = await readPlaySession(redis, config.redis.prefix, play.id);
      const own = this.#sessions.get(play.id);
      const before = own && (known === null || known.holder === this.#presence.id) ? own.state : known;
      const now = this.#now();
      const state = nextSession(before, this.#presence.id, now);
      const from = before?.last ?? play.startedAt;
      if (now - from > maxSilenceMs(this.#timing)) recordGap(state, await this.#causeOf(before, from), from, now, this.#timing);
      if (await savePlaySession(redis, config.redis.prefix, play.id, state, known, play.keepMs)) return state;
    }
    throw unavailable('another process is opening the same session, try again');
  }

  /**
   * Returns the side that caused a silence that began at `from`. The client caused it if the client never opened a socket, or if the process that
   * held the socket is alive and recorded that the client left. The service caused every other silence, and every silence during which Redis may have
   * lost heartbeats.
   */
  async #causeOf(before: PlaySession | null, from: number): Promise<GapCause> {
    if (from < (await this.#presence.announce())) return 'service';
    if (before === null) return 'client';
    return before.left === 'client' && (await this.#presence.isAlive(before.holder)) ? 'client' : 'service';
  }

  /** Attaches a socket to a claimed session. Closes the socket that the session had before. */
  open(play: SessionPlay, state: PlaySession, socket: WebSocket): void {
    const now = performance.now();
    const session = this.#sessions.get(play.id) ?? {
      play,
      state,
      socket,
      countedAt: -Infinity,
      lastSignAt: now,
      silence: undefined,
      unsaved: false,
      saving: null,
    };
    if (session.socket !== socket) closeInBackground(session.socket, CLOSE.takenOver, 'the session goes on over another connection');
    Object.assign(session, { state, socket, lastSignAt: now });
    this.#sessions.set(play.id, session);
    this.#listen(session, socket);
    this.#startSilenceTimer(session, this.#timing.silenceMs);
  }

  /** Ends a session whose wallet has signed out, unless another socket has taken over the session. */
  signOut(playId: string, socket: WebSocket): void {
    const session = this.#sessions.get(playId);
    if (session?.socket === socket) this.#end(session, 'client', CLOSE.signedOut, 'the wallet has signed out');
  }

  /** Records that the client of a claimed session left before its socket was open. */
  async abandon(play: SessionPlay, state: PlaySession): Promise<void> {
    const known = { holder: state.holder, last: state.last };
    await savePlaySession(this.#app.redis, this.#app.config.redis.prefix, play.id, { ...state, left: 'client' }, known, play.keepMs);
  }

  #listen(session: OpenSession, socket: WebSocket): void {
    const times: number[] = [];
    const flooded = () => {
      times.push(performance.now());
      if (times.length <= MAX_MESSAGES) return false;
      return performance.now() - (times.shift() ?? 0) < MESSAGE_WINDOW_MS;
    };
    const isCurrent = () => session.socket === socket && socket.readyState === WebSocket.OPEN && !this.stopping;
    socket.on('message', (data, isBinary) => {
      if (!isCurrent()) return;
      if (flooded()) this.#end(session, 'client', CLOSE.protocol, 'too many messages');
      else if (isBinary || !isHeartbeat(data)) this.#end(session, 'client', CLOSE.protocol, 'a message must be {"type":"heartbeat"}');
      else this.#onHeartbeat(session, socket);
    });
    socket.on('ping', () => {
      if (isCurrent() && flooded()) this.#end(session, 'client', CLOSE.protocol, 'too many messages');
    });
    // Ignores the error. A protocol error, such as an oversize frame, closes the socket, and the `close` handler ends the session.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (session.socket === socket && !this.stopping) this.#end(session, 'client', CLOSE.over, '');
    });
  }

  #onHeartbeat(session: OpenSession, socket: WebSocket): void {
    const at = performance.now();
    if (at - session.countedAt < this.#timing.minIntervalMs) return;
    const now = this.#now();
    if (now > session.play.endsAt) {
      this.#end(session, 'client', CLOSE.over, 'the play is over');
      return;
    }
    const { state } = session;
    // Measures the silence with the monotonic clock, so that an adjustment of the wall clock does not break the session.
    const silent = at - session.lastSignAt;
    const hasStalled = now - silent < this.#presence.stalledAt;
    recordGap(state, hasStalled ? 'service' : 'client', now - Math.round(silent), now, this.#timing);
    state.last = now;
    state.count += 1;
    session.countedAt = at;
    session.lastSignAt = at;
    session.silence?.refresh();
    const answer = JSON.stringify({ type: 'heartbeat', beats: state.count, at: new Date(now).toISOString() });
    // Answers a heartbeat only after the heartbeat is stored in Redis, so that an answered heartbeat is not lost when this process is killed.
    this.#saveInBackground(session, () => {
      if (socket.readyState === WebSocket.OPEN) socket.send(answer);
    });
  }

  /** Closes the session's socket when no heartbeat arrives for `afterMs`. */
  #startSilenceTimer(session: OpenSession, afterMs: number): void {
    clearTimeout(session.silence);
    const dueAt = performance.now() + afterMs;
    session.silence = setTimeout(() => {
      if (performance.now() - session.lastSignAt < afterMs) return this.#startSilenceTimer(session, afterMs);
      // After a stall of this process, waits for `refreshMs` more, so that the process can first read the messages that arrived during the stall.
      if (performance.now() - Math.max(dueAt, session.lastSignAt + afterMs) > this.#timing.refreshMs)
        return this.#startSilenceTimer(session, this.#timing.refreshMs);
      this.#end(session, 'client', CLOSE.silent, 'no heartbeat came');
    }, afterMs).unref();
  }

  #end(session: OpenSession, left: GapCause, code: number, reason: string): void {
    const { socket } = session;
    if (!socket) return;
    clearTimeout(session.silence);
    session.socket = null;
    session.state.left = left;
    this.#saveInBackground(session);
    closeInBackground(socket, code, reason);
  }

  /**
   * Copies a session to Redis, and copies it again if it changes during the copy. After a failure, the next renewal of this process's presence keys
   * retries the copy.
   */
  #save(session: OpenSession): Promise<void> {
    session.unsaved = true;
    session.saving ??= this.#write(session).finally(() => {
      session.saving = null;
      if (session.socket === null && !session.unsaved && this.#sessions.get(session.play.id) === session) this.#sessions.delete(session.play.id);
    });
    return session.saving;
  }

  #saveInBackground(session: OpenSession, afterwards: () => void = () => undefined): void {
    this.#save(session)
      .then(afterwards)
      .catch((err: unknown) => this.#app.log.error({ err, playId: session.play.id }, 'a play session cannot be saved to Redis'));
  }

  async #write(session: OpenSession): Promise<void> {
    const { redis, config, log } = this.#app;
    try {
      while (session.unsaved) {
        session.unsaved = false;
        if (await savePlaySession(redis, config.redis.prefix, session.play.id, session.state, { holder: this.#presence.id }, session.play.keepMs))
          continue;
        clearTimeout(session.silence);
        const ended = (await readPlaySession(redis, config.redis.prefix, session.play.id))?.holder === ENDED_HOLDER;
        if (ended) closeInBackground(session.socket, CLOSE.newerPlay, 'the wallet started another play of the game, which ended this one');
        else closeInBackground(session.socket, CLOSE.takenOver, 'the session goes on over another connection');
        session.socket = null;
      }
    } catch (err) {
      session.unsaved = true;
      log.debug({ err, playId: session.play.id }, 'a play session cannot be saved to Redis; the next presence refresh retries');
    }
  }

  /** Saves the sessions whose latest state Redis does not have yet. @param all whether to save every session */
  flush(all = false): void {
    for (const session of this.#sessions.values()) if (all || session.unsaved) this.#saveInBackground(session);
  }

  /** Records in each open session that the service ended it, then closes every socket. */
  async stop(): Promise<void> {
    this.stopping = true;
    const open = [...this.#sessions.values()].filter((session) => session.socket !== null);
    for (const session of open) session.state.left = 'service';
    await Promise.all([...this.#sessions.values()].map((session) => this.#save(session)));
    await Promise.all(
      open.map(async (session) => {
        clearTimeout(session.silence);
        await closeSocket(session.socket, CLOSE.restart, 'the service restarts, connect again');
      }),
    );
    this.#sessions.clear();
  }
}

/**
 * Returns the state of a session after a claim by `holder`.
 * @param before the state that was stored at the time of the claim; null for a new session
 */
function nextSession(before: PlaySession | null, holder: string, now: number): PlaySession {
  if (before) return { ...before, holder, left: '', last: now };
  return { holder, left: '', first: now, last: now, count: 0, clientGap: 0, clientGapAt: 0, serviceGap: 0, serviceGapAt: 0 };
}

function isHeartbeat(data: RawData): boolean {
  try {
    return Heartbeat.safeParse(JSON.parse(String(data))).success;
  } catch {
    return false;
  }
}

function closeInBackground(socket: WebSocket | null, code: number, reason: string): void {
  closeSocket(socket, code, reason).catch(() => socket?.terminate());
}

/** Closes a socket. Terminates the connection when the client does not finish the closing handshake in time. */
async function closeSocket(socket: WebSocket | null, code: number, reason: string): Promise<void> {
  if (!socket || socket.readyState === WebSocket.CLOSED) return;
  const done = new Promise((resolve) => socket.once('close', resolve));
  socket.close(code, reason);
  const timer = setTimeout(() => socket.terminate(), CLOSE_TIMEOUT_MS);
  await done;
  clearTimeout(timer);
}
