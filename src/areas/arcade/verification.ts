import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type Koa from 'koa';
import { WebSocketServer } from 'ws';
import { fail, type HttpError, unavailable } from '#lib/errors.ts';
import { Id } from '#lib/scalars.ts';
import type { App } from '#platform/app.ts';
import { originAllowed } from '#platform/auth/origin.ts';
import { openSessions, walletOfUpgrade } from '#platform/auth/sessions.ts';
import { asRefusal } from '#platform/http/errors.ts';
import { endWith, straighten } from '#platform/http/server.ts';
import { Heartbeats, type SessionPlay } from './heartbeats.ts';
import { TIMING, type Timing } from './play-session.ts';
import { findOwnPlay } from './plays.ts';
import { Presence } from './presence.ts';
import { findGame } from './registry.ts';

/** A heartbeat has 20 bytes. */
const MAX_FRAME_BYTES = 256;
/** Beats are kept this long after the longest play, so that late scores find them, ms. */
const KEEP_MS = 86_400_000;

/** The sessions of an HTTP server. */
export interface Verification {
  /** Writes down that it is us who leave, and closes every session. Call it before the server's connections are waited for. */
  close(): Promise<void>;
}

const isWebSocket = (request: IncomingMessage): boolean => request.headers.upgrade?.toLowerCase() === 'websocket';

/**
 * Serves `/game/{id}/session?playId=` on an HTTP server: WebSockets by which plays are verified.
 * Other upgrades that clients offer (h2c) are ignored, and their requests served as they are.
 */
export function attachVerification(server: Server, app: App, koa: Koa, timing: Timing = TIMING): Verification {
  const sessions = openSessions(app, koa);
  const presence = new Presence(app, timing);
  const heartbeats = new Heartbeats(app, presence, timing);
  const sockets = new WebSocketServer({ noServer: true, maxPayload: MAX_FRAME_BYTES, perMessageDeflate: false, clientTracking: false });
  sockets.on('wsClientError', (error, socket) => refuse(socket, fail(400, `the WebSocket handshake must be valid: ${error.message}`)));

  async function admit(request: IncomingMessage): Promise<SessionPlay> {
    const { gameId, playId } = target(request);
    if (!originAllowed(app.config, request.headers)) throw fail(403, 'Origin must be that of this service or an allowed one');
    const wallet = await walletOfUpgrade(koa, sessions, request);
    if (wallet === null) throw fail(401, 'a session is required, sign in first');
    const id = Id.safeParse(playId);
    if (!id.success) throw fail(400, 'playId is required and must be a UUID');
    const game = await findGame(app, gameId);
    if (!game) throw fail(404, 'no such game');
    const play = await findOwnPlay(app.db, id.data, wallet, game.id);
    if (!play) throw fail(404, 'playId must be a play of yours in this game');
    if (game.verification !== 'heartbeat') throw fail(409, 'the game does not verify by heartbeat');
    if (play.used) throw fail(409, 'playId must be a play that has no score yet');
    const { maxDurationMs } = game.caps;
    if (play.ageMs > maxDurationMs) throw fail(409, 'playId must be a play that is not over');
    return {
      id: play.id,
      startedAt: Math.round(play.startedAt),
      endsAt: Math.round(play.startedAt) + maxDurationMs,
      keepMs: maxDurationMs + KEEP_MS,
    };
  }

  async function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const fault = straighten(request);
    if (fault !== null) throw fail(400, fault);
    if (heartbeats.stopping) throw unavailable('the service restarts, connect again');
    const play = await admit(request);
    const beats = await heartbeats.claim(play);
    let opened = false;
    if (!heartbeats.stopping) {
      sockets.handleUpgrade(request, socket, head, (webSocket) => {
        opened = true;
        heartbeats.open(play, beats, webSocket);
      });
    }
    if (!opened) await heartbeats.abandon(play, beats);
    if (heartbeats.stopping && !opened) throw unavailable('the service restarts, connect again');
  }

  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => undefined);
    upgrade(request, socket, head).catch((error) => {
      const refusal = asRefusal(error);
      if (refusal.status >= 500) app.log[refusal.status === 500 ? 'error' : 'warn']({ err: error }, 'upgrade failed');
      refuse(socket, refusal);
    });
  });
  Object.assign(server, { shouldUpgradeCallback: isWebSocket });
  presence.start(() => heartbeats.flush());

  return {
    async close() {
      await heartbeats.stop();
      await presence.stop();
      sockets.close();
    },
  };
}

/** The game and the play that an upgrade asks for. */
function target(request: IncomingMessage): { gameId: string; playId: string | null } {
  const { pathname, searchParams } = URL.parse(request.url ?? '', 'http://localhost') ?? {};
  const gameId = /^\/game\/([a-z0-9-]+)\/session$/.exec(pathname ?? '')?.[1];
  if (gameId === undefined) throw fail(404, 'no such resource');
  return { gameId, playId: searchParams?.get('playId') ?? null };
}

/** Answers an upgrade like any other refused request. */
const refuse = (socket: Duplex, { status, message, headers }: HttpError): void => endWith(socket, status, message, headers);
