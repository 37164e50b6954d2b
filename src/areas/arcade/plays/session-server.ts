import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type Koa from 'koa';
import { WebSocketServer } from 'ws';
import { fail, type HttpError, unavailable } from '#lib/errors.ts';
import { Id } from '#lib/scalars.ts';
import type { App } from '#platform/app.ts';
import { originAllowed } from '#platform/auth/origin.ts';
import { useTicket } from '#platform/auth/session-tickets.ts';
import { openSessions, sessionOfUpgrade } from '#platform/auth/sessions.ts';
import { watchSession } from '#platform/auth/watched-sessions.ts';
import { toHttpError } from '#platform/http/errors.ts';
import { inFlightOf } from '#platform/http/in-flight.ts';
import type { BoundedLoad } from '#platform/http/route.ts';
import { normalizeTarget, respondAndClose } from '#platform/http/server.ts';
import { FAILOVER_EVENTS } from '#platform/redis/connection.ts';
import { findGame } from '../games/registry.ts';
import { HeldSessions, type SessionPlay } from './held-sessions.ts';
import { SESSION_TIMING, type SessionTiming } from './play-session.ts';
import { findOwnPlay } from './plays.ts';
import { Presence } from './presence.ts';

/** Maximum size of a WebSocket frame, bytes. A heartbeat message has 20 bytes. */
const MAX_FRAME_BYTES = 256;
/**
 * Time for which Redis stores a session beyond the maximum duration of a play, ms, so that a score that is submitted late still finds the session.
 */
const SESSION_RETENTION_MS = 86_400_000;

/** The WebSocket endpoint of play sessions on an HTTP server. */
export interface SessionServer {
  /**
   * Records that the service ended the sessions, and closes their sockets. Call this function before you wait for the server's connections to end.
   */
  close(): Promise<void>;
}

const isWebSocket = (request: IncomingMessage): boolean => request.headers.upgrade?.toLowerCase() === 'websocket';

/**
 * Accepts WebSockets at `/game/{id}/session?playId=` of an HTTP server. Clients send the heartbeats of their plays over these WebSockets. If a
 * request offers another upgrade, such as h2c, the server handles the request as plain HTTP.
 */
export function attachSessionServer(server: Server, app: App, koa: Koa, timing: SessionTiming = SESSION_TIMING): SessionServer {
  const loginSessions = openSessions(app, koa);
  const presence = new Presence(app, timing);
  const sessions = new HeldSessions(app, presence, timing);
  const sockets = new WebSocketServer({ noServer: true, maxPayload: MAX_FRAME_BYTES, perMessageDeflate: false, clientTracking: false });
  sockets.on('wsClientError', (error, socket) => refuse(socket, fail(400, `the WebSocket handshake must be valid: ${error.message}`)));

  async function admit(request: IncomingMessage, socket: Duplex): Promise<{ play: SessionPlay; sessionKey: string }> {
    const { gameId, playId, ticket } = parseTarget(request);
    if (!originAllowed(app.config, request.headers)) throw fail(403, 'Origin must be the origin of this service or an allowed origin');
    // Anybody can send invented tickets, and each costs a transaction.
    const login =
      ticket === null
        ? await sessionOfUpgrade(koa, loginSessions, request)
        : await inTurnOf('write', null, socket, () => useTicket(app, ticket, request.headers));
    if (login === null) {
      throw fail(
        401,
        ticket === null ? 'a session is required, sign in first' : 'ticket must be an unused ticket of POST /auth/ticket, at most 30 s old',
      );
    }
    const play = await inTurnOf('read', login.wallet, socket, () => findPlay(login.wallet, gameId, playId));
    return { play, sessionKey: login.sessionKey };
  }

  /** Runs work of a caller when the bounds of the requests in flight allow it. @param caller null without a session @throws 429 or 503 */
  async function inTurnOf<T>(load: BoundedLoad, caller: string | null, socket: Duplex, work: () => Promise<T>): Promise<T> {
    const turn = await inFlightOf(app).enter(load, caller);
    try {
      await turn.start(socket);
      return await work();
    } finally {
      turn.end();
    }
  }

  /** Returns a play for which its wallet may open a session. @throws 400, 404 or 409 */
  async function findPlay(wallet: string, gameId: string, playId: string | null): Promise<SessionPlay> {
    const id = Id.safeParse(playId);
    if (!id.success) throw fail(400, 'playId is required and must be a UUID in lower case');
    const game = await findGame(app, gameId);
    if (!game) throw fail(404, 'no such game');
    const play = await findOwnPlay(app.db, id.data, wallet, game);
    if (!play) throw fail(404, 'playId must name a play that you started in this game');
    if (game.verification !== 'heartbeat') throw fail(409, 'the game does not verify scores by heartbeat, so its plays have no sessions');
    if (play.used) throw fail(409, 'playId must name a play that has no score yet');
    const { maxDurationMs } = game.caps;
    if (play.ageMs > maxDurationMs) throw fail(409, 'playId must name a play that is not over');
    if (play.ended) throw fail(409, 'playId must name a live play: you started another play of the game after this one, which ended it');
    const startedAt = Math.round(play.startedAt);
    const keepMs = maxDurationMs + SESSION_RETENTION_MS;
    return { id: play.id, startedAt, endsAt: startedAt + maxDurationMs, keepMs };
  }

  async function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const fault = normalizeTarget(request);
    if (fault !== null) throw fail(400, fault);
    if (sessions.stopping) throw unavailable('the service restarts, connect again');
    const { play, sessionKey } = await admit(request, socket);
    const state = await sessions.claim(play);
    let opened = false;
    if (!sessions.stopping) {
      sockets.handleUpgrade(request, socket, head, (webSocket) => {
        opened = true;
        sessions.open(play, state, webSocket);
        webSocket.once(
          'close',
          watchSession(app, sessionKey, () => sessions.signOut(play.id, webSocket)),
        );
      });
    }
    if (!opened) await sessions.abandon(play, state);
    if (sessions.stopping && !opened) throw unavailable('the service restarts, connect again');
  }

  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => undefined);
    upgrade(request, socket, head).catch((error) => {
      const refusal = toHttpError(error);
      if (refusal.status >= 500)
        app.log[refusal.status === 500 ? 'error' : 'warn']({ err: error }, 'a WebSocket upgrade failed; the client gets an error response');
      refuse(socket, refusal);
    });
  });
  Object.assign(server, { shouldUpgradeCallback: isWebSocket });
  presence.start(() => sessions.flush());
  // A failover of Redis may have lost the latest states, so every session is saved again.
  const saveAll = () => sessions.flush(true);
  for (const event of FAILOVER_EVENTS) app.redis.on(event, saveAll);

  return {
    async close() {
      for (const event of FAILOVER_EVENTS) app.redis.off(event, saveAll);
      await sessions.stop();
      await presence.stop();
      sockets.close();
    },
  };
}

/** Parses the game's id, the play's id and the ticket from the URL of an upgrade request. */
function parseTarget(request: IncomingMessage): { gameId: string; playId: string | null; ticket: string | null } {
  const { pathname, searchParams } = URL.parse(request.url ?? '', 'http://localhost') ?? {};
  const gameId = /^\/game\/([a-z0-9-]+)\/session$/.exec(pathname ?? '')?.[1];
  if (gameId === undefined) throw fail(404, 'no such resource');
  return { gameId, playId: searchParams?.get('playId') ?? null, ticket: searchParams?.get('ticket') ?? null };
}

/** Sends an error response to an upgrade request. */
const refuse = (socket: Duplex, { status, message, headers }: HttpError): void => respondAndClose(socket, status, message, headers);
