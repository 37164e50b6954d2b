import { type RawData, WebSocket } from 'ws';
import { z } from 'zod';
import { unavailable } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { type Beats, type Cause, limitOf, noteGap, readBeats, saveBeats, type Timing } from './play-session.ts';
import type { Presence } from './presence.ts';

/** Why a session's socket is closed (RFC 6455; 4000 and above are our own). */
const CLOSE = { over: 1000, protocol: 1008, restart: 1012, takenOver: 4001, silent: 4008 } as const;
/** More messages than this in 10 s are a flood. */
const MAX_MESSAGES = 20;
const FLOOD_MS = 10_000;
/** How long a peer may take to close its side, ms. */
const CLOSING_MS = 1_000;
/** How often a session is tried to be claimed while others claim it too. */
const CLAIM_TRIES = 5;

const Heartbeat = z.strictObject({ type: z.literal('heartbeat') });

/** A play as its session needs it; instants in ms since 1970. */
export interface SessionPlay {
  id: string;
  startedAt: number;
  /** When the longest play of its game would end. */
  endsAt: number;
  /** How long its beats are kept after the last one, ms. */
  keepMs: number;
}

/** A play whose socket this process holds, or whose end it has yet to write down. */
interface Held {
  readonly play: SessionPlay;
  beats: Beats;
  socket: WebSocket | null;
  /** When the last beat counted, monotonic ms. */
  beatAt: number;
  /** Monotonic ms of the last sign of life. */
  lifeAt: number;
  silence: NodeJS.Timeout | undefined;
  unsaved: boolean;
  saving: Promise<void> | null;
}

/**
 * The sessions that this process holds. While it holds one, its own memory is the authority and Redis the copy for the others:
 * a Redis that is away or lost its memory breaks no session.
 */
export class Heartbeats {
  readonly #app: App;
  readonly #presence: Presence;
  readonly #timing: Timing;
  readonly #held = new Map<string, Held>();
  stopping = false;

  constructor(app: App, presence: Presence, timing: Timing) {
    this.#app = app;
    this.#presence = presence;
    this.#timing = timing;
  }

  #now(): number {
    return this.#app.clock.now().getTime();
  }

  /**
   * Makes this process the holder of a play's session, and notes the silence before.
   * @throws 503 when others claim it at the same time again and again
   */
  async claim(play: SessionPlay): Promise<Beats> {
    const { redis, config } = this.#app;
    for (let tries = 0; tries < CLAIM_TRIES; tries++) {
      const known = await readBeats(redis, config.redis.prefix, play.id);
      const own = this.#held.get(play.id);
      const before = own && (known === null || known.holder === this.#presence.id) ? own.beats : known;
      const now = this.#now();
      const beats = next(before, this.#presence.id, now);
      const from = before?.last ?? play.startedAt;
      if (now - from > limitOf(this.#timing)) noteGap(beats, await this.#causeOf(before, from), from, now, this.#timing);
      if (await saveBeats(redis, config.redis.prefix, play.id, beats, known, play.keepMs)) return beats;
    }
    throw unavailable('the session is being opened elsewhere, try again');
  }

  /**
   * Whom a silence that broke the session is put down to. A living holder writes down that a client left or fell silent;
   * where that is missing, or its process is gone, or beats were lost, the client could not help it.
   */
  async #causeOf(before: Beats | null, from: number): Promise<Cause> {
    if (from < (await this.#presence.check())) return 'service';
    if (before === null) return 'client';
    return before.left === 'client' && (await this.#presence.isAlive(before.holder)) ? 'client' : 'service';
  }

  /** Takes the socket of a claimed session; one that was open before is closed. */
  open(play: SessionPlay, beats: Beats, socket: WebSocket): void {
    const now = performance.now();
    const held = this.#held.get(play.id) ?? { play, beats, socket, beatAt: -Infinity, lifeAt: now, silence: undefined, unsaved: false, saving: null };
    if (held.socket !== socket) close(held.socket, CLOSE.takenOver, 'the session goes on over another connection');
    Object.assign(held, { beats, socket, lifeAt: now });
    this.#held.set(play.id, held);
    this.#listen(held, socket);
    this.#awaitLife(held, this.#timing.silenceMs);
  }

  /** Writes down that a claimed session's client went away before its socket was open. */
  async abandon(play: SessionPlay, beats: Beats): Promise<void> {
    const known = { holder: beats.holder, last: beats.last };
    await saveBeats(this.#app.redis, this.#app.config.redis.prefix, play.id, { ...beats, left: 'client' }, known, play.keepMs);
  }

  #listen(held: Held, socket: WebSocket): void {
    const times: number[] = [];
    const flooded = () => {
      times.push(performance.now());
      if (times.length <= MAX_MESSAGES) return false;
      return performance.now() - (times.shift() ?? 0) < FLOOD_MS;
    };
    const isCurrent = () => held.socket === socket && socket.readyState === WebSocket.OPEN && !this.stopping;
    socket.on('message', (data, isBinary) => {
      if (!isCurrent()) return;
      if (flooded()) this.#end(held, 'client', CLOSE.protocol, 'too many messages');
      else if (isBinary || !isHeartbeat(data)) this.#end(held, 'client', CLOSE.protocol, 'a message must be {"type":"heartbeat"}');
      else this.#beat(held, socket);
    });
    socket.on('ping', () => {
      if (isCurrent() && flooded()) this.#end(held, 'client', CLOSE.protocol, 'too many messages');
    });
    // What the protocol forbids (oversize frames and the like) closes the socket; `close` follows.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (held.socket === socket && !this.stopping) this.#end(held, 'client', CLOSE.over, '');
    });
  }

  #beat(held: Held, socket: WebSocket): void {
    const at = performance.now();
    if (at - held.beatAt < this.#timing.minBeatMs) return;
    const now = this.#now();
    if (now > held.play.endsAt) {
      this.#end(held, 'client', CLOSE.over, 'the play is over');
      return;
    }
    const { beats } = held;
    // Monotonic: a clock that is set right breaks no session. The wall clock only places the silence in time.
    const silent = at - held.lifeAt;
    const stood = now - silent < this.#presence.stalledAt;
    noteGap(beats, stood ? 'service' : 'client', now - Math.round(silent), now, this.#timing);
    beats.last = now;
    beats.count += 1;
    held.beatAt = at;
    held.lifeAt = at;
    held.silence?.refresh();
    const answer = JSON.stringify({ type: 'heartbeat', beats: beats.count, at: new Date(now).toISOString() });
    // Answered once it is copied: a process that is killed now has promised nothing that it did not write down.
    void this.#save(held).then(() => {
      if (socket.readyState === WebSocket.OPEN) socket.send(answer);
    });
  }

  /** Closes a session's socket once it has been silent for too long. */
  #awaitLife(held: Held, afterMs: number): void {
    clearTimeout(held.silence);
    const dueAt = performance.now() + afterMs;
    held.silence = setTimeout(() => {
      // A process that stood still first reads what has arrived meanwhile.
      if (performance.now() - held.lifeAt < afterMs) return this.#awaitLife(held, afterMs);
      if (performance.now() - Math.max(dueAt, held.lifeAt + afterMs) > this.#timing.refreshMs) return this.#awaitLife(held, this.#timing.refreshMs);
      this.#end(held, 'client', CLOSE.silent, 'no heartbeat came');
    }, afterMs).unref();
  }

  #end(held: Held, left: Cause, code: number, reason: string): void {
    const { socket } = held;
    if (!socket) return;
    clearTimeout(held.silence);
    held.socket = null;
    held.beats.left = left;
    void this.#save(held);
    close(socket, code, reason);
  }

  /** Copies a session to Redis; what changes meanwhile is copied next. What fails is tried again at the next refresh. */
  #save(held: Held): Promise<void> {
    held.unsaved = true;
    held.saving ??= this.#write(held).finally(() => {
      held.saving = null;
      if (held.socket === null && !held.unsaved && this.#held.get(held.play.id) === held) this.#held.delete(held.play.id);
    });
    return held.saving;
  }

  async #write(held: Held): Promise<void> {
    const { redis, config, log } = this.#app;
    try {
      while (held.unsaved) {
        held.unsaved = false;
        if (await saveBeats(redis, config.redis.prefix, held.play.id, held.beats, { holder: this.#presence.id }, held.play.keepMs)) continue;
        clearTimeout(held.silence);
        close(held.socket, CLOSE.takenOver, 'the session goes on over another connection');
        held.socket = null;
      }
    } catch (err) {
      held.unsaved = true;
      log.debug({ err, playId: held.play.id }, 'heartbeats wait for redis');
    }
  }

  /** Tries again what Redis did not take. */
  flush(): void {
    for (const held of this.#held.values()) if (held.unsaved) void this.#save(held);
  }

  /** Writes down that it is us who leave, then closes every socket. */
  async stop(): Promise<void> {
    this.stopping = true;
    const open = [...this.#held.values()].filter((held) => held.socket !== null);
    for (const held of open) held.beats.left = 'service';
    await Promise.all([...this.#held.values()].map((held) => this.#save(held)));
    await Promise.all(
      open.map(async (held) => {
        clearTimeout(held.silence);
        await closed(held.socket, CLOSE.restart, 'the service restarts, connect again');
      }),
    );
    this.#held.clear();
  }
}

/** What a claim makes of what was known. */
function next(before: Beats | null, holder: string, now: number): Beats {
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

function close(socket: WebSocket | null, code: number, reason: string): void {
  void closed(socket, code, reason);
}

/** Closes a socket; cuts it off when the peer does not answer. */
async function closed(socket: WebSocket | null, code: number, reason: string): Promise<void> {
  if (!socket || socket.readyState === WebSocket.CLOSED) return;
  const done = new Promise((resolve) => socket.once('close', resolve));
  socket.close(code, reason);
  const timer = setTimeout(() => socket.terminate(), CLOSING_MS);
  await done;
  clearTimeout(timer);
}
