import { type IncomingMessage, ServerResponse } from 'node:http';
import Keygrip from 'keygrip';
import type Koa from 'koa';
import koaSession from 'koa-session';
import { constantTimeEqual } from '#lib/constant-time-equal.ts';
import { fail, type HttpError } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { isUnavailable } from '#platform/http/errors.ts';
import { originOf } from './origin.ts';
import { isExtensionDue, isRestricted, SESSION_TOKEN_PREFIX, type SessionRecord, sessionKeyOf } from './session-record.ts';
import { SessionStore } from './session-store.ts';

/** Middleware that reads the session of a request. */
export type SessionMiddleware = (ctx: Koa.Context, next: () => Promise<void>) => Promise<void>;

/** The methods of koa-session's `ctx.session` that this module calls. */
interface KoaSession {
  regenerate(): Promise<void>;
  manuallyCommit(): Promise<void>;
}

/** Delay before sessions are extended again after PostgreSQL was not available, ms. */
const EXTENSION_RETRY_MS = 10_000;

/** Maximum signatures in the cache, of some 200 bytes each. A full cache is cleared. */
const MAX_CACHED_SIGNATURES = 100_000;

/** Returns the wallet of the request's session, or null. */
export function walletOf(ctx: Koa.Context): string | null {
  return sessionOf(ctx)?.wallet ?? null;
}

/** Returns whether the request's session is the restricted session of a banned wallet. */
export function isRestrictedSession(ctx: Koa.Context): boolean {
  const id = sessionIdOf(ctx);
  return id !== null && isRestricted(id);
}

/** Returns the request's session, or null. */
export function sessionOf(ctx: Koa.Context): SessionRecord | null {
  return ctx.state.session ?? null;
}

/** Returns the secret id of the request's session, or null. */
export function sessionIdOf(ctx: Koa.Context): string | null {
  return sessionOf(ctx) === null ? null : ctx.state.sessionId;
}

/** Returns the key of the request's session, or null. */
export function requestSessionKey(ctx: Koa.Context): string | null {
  const id = sessionIdOf(ctx);
  return id === null ? null : sessionKeyOf(id);
}

/** Returns whether a request sends a Bearer token. The request's cookie does not count then. */
export const hasBearer = (ctx: Koa.Context): boolean => /^Bearer\b/i.test(ctx.get('Authorization'));

/** Returns the session token that a request sends, valid or not; null when it sends none. */
export function sessionTokenOf(ctx: Koa.Context): string | null {
  const token = /^Bearer ([\x21-\x7e]+)$/i.exec(ctx.get('Authorization'))?.[1];
  return token?.startsWith(SESSION_TOKEN_PREFIX) ? token : null;
}

/** Returns the error for a request without a session to a route that requires one. */
export const sessionRequired = (ctx: Koa.Context): HttpError =>
  fail(
    401,
    hasBearer(ctx)
      ? 'Authorization must be a session token that has not ended, sent from the origin that requested it'
      : 'a session is required, sign in first',
  );

/** Sets the cookie of a new session and ends the request's previous session. */
export async function startSession(ctx: Koa.Context, id: string, session: SessionRecord): Promise<void> {
  ctx.state.sessionId = id;
  ctx.state.nextSessionId = id;
  ctx.state.session = session;
  // The session is assigned before `regenerate` is called, because `regenerate` copies the contents of `ctx.session`.
  ctx.session = session;
  const fresh: KoaSession = ctx.session;
  await fresh.regenerate();
}

/** Ends the request's session, and clears its cookie if it has one. */
export async function endSession(app: App, ctx: Koa.Context): Promise<void> {
  const token = sessionTokenOf(ctx);
  if (token !== null) return await new SessionStore(app).end(token);
  const session: KoaSession = ctx.session;
  ctx.session = null;
  ctx.state.session = null;
  await session.manuallyCommit();
}

/** The session of a WebSocket. */
export interface SocketSession {
  readonly wallet: string;
  readonly sessionKey: string;
}

/**
 * Returns the session of a WebSocket upgrade request; null without a session, and for a restricted session. An upgrade request does not pass through
 * Koa's middleware, so this function runs the session middleware for it.
 */
export async function sessionOfUpgrade(koa: Koa, sessions: SessionMiddleware, request: IncomingMessage): Promise<SocketSession | null> {
  const ctx = koa.createContext(request, new ServerResponse(request));
  await sessions(ctx, async () => undefined);
  const [wallet, sessionKey] = [walletOf(ctx), requestSessionKey(ctx)];
  return wallet === null || sessionKey === null || isRestrictedSession(ctx) ? null : { wallet, sessionKey };
}

/**
 * Returns the session middleware of a Koa application. The middleware is created once and stored in Koa's context, because koa-session can be
 * installed only once.
 */
export function openSessions(app: App, koa: Koa): SessionMiddleware {
  const existing: SessionMiddleware | undefined = koa.context.sessionMiddleware;
  const sessions = existing ?? createSessions(app, koa);
  koa.context.sessionMiddleware = sessions;
  return sessions;
}

/**
 * Creates the session middleware. koa-session runs without automatic commits, so a request costs one read of the session and no write. This module
 * reads and writes the cookie itself, because Koa drops the cookie's lifetime and its SameSite attribute when Koa renews a signature.
 */
function createSessions(app: App, koa: Koa): SessionMiddleware {
  const store = new SessionStore(app);
  koa.keys = new Keygrip([...app.config.sessionKeys], 'sha256');
  const signers = app.config.sessionKeys.map((key) => new Keygrip([key], 'sha256'));
  const secure = app.config.publicUrl.protocol === 'https:';
  const name = secure ? '__Host-coinop.sid' : 'coinop.sid';
  const attributes = { httpOnly: true, sameSite: 'lax', secure, signed: true, overwrite: true } as const;
  /**
   * Caches verified cookie signatures, each with the index of the session key that made the signature, so that a repeated cookie needs no HMAC. Only
   * verified signatures are added, so a cached signature is valid.
   */
  const signatures = new Map<string, number>();
  let extendFrom = 0;

  function sendCookie(ctx: Koa.Context, id: string): void {
    const session = sessionOf(ctx);
    if (session) ctx.cookies.set(name, id, { ...attributes, maxAge: Math.max(1, session.expiresAt - app.clock.now().getTime()) });
  }

  /**
   * Returns the index of the session key that made a signature, or -1. It does not use Keygrip's own comparison, which computes three HMACs with a
   * random key and takes thirty times longer.
   */
  function signerOf(signed: string, signature: string): number {
    const pair = `${signed} ${signature}`;
    const known = signatures.get(pair);
    if (known !== undefined) return known;
    const signer = signers.findIndex((one) => constantTimeEqual(one.sign(signed), signature));
    if (signer < 0) return signer;
    if (signatures.size >= MAX_CACHED_SIGNATURES) signatures.clear();
    signatures.set(pair, signer);
    return signer;
  }

  /** Returns the session id in the cookie, or '' when no session key signed it, or when the request sends a Bearer token. */
  function readCookie(ctx: Koa.Context): string {
    if (hasBearer(ctx)) return '';
    const id = ctx.cookies.get(name, { signed: false });
    const signature = ctx.cookies.get(`${name}.sig`, { signed: false });
    if (!id || !signature) return '';
    const key = signerOf(`${name}=${id}`, signature);
    ctx.state.signedByOldKey = key > 0;
    ctx.state.sessionId = key < 0 ? '' : id;
    return ctx.state.sessionId;
  }

  /** Reads the session of a session token. A session that is bound to an origin counts only for requests of this origin. */
  async function readToken(ctx: Koa.Context, token: string): Promise<void> {
    const session = await store.findByToken(token);
    if (session?.transport !== 'bearer' || (session.origin !== null && session.origin !== originOf(app.config, ctx.headers))) return;
    ctx.state.sessionId = token;
    ctx.state.session = session;
  }

  /**
   * Extends the session when an extension is due. While PostgreSQL is down, the session stays valid without an extension.
   * @returns whether this call made the session expire later
   */
  async function extend(ctx: Koa.Context, id: string, session: SessionRecord): Promise<boolean> {
    const now = app.clock.now().getTime();
    if (now < extendFrom || !isExtensionDue(session, now)) return false;
    try {
      const outcome = await store.extend(id);
      ctx.state.session = outcome?.session ?? null;
      return outcome?.extended === true && outcome.session.expiresAt > session.expiresAt;
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      extendFrom = now + EXTENSION_RETRY_MS;
      app.log.warn({ err: error }, 'sessions are not extended while PostgreSQL is not available; retrying');
      return false;
    }
  }

  const load = koaSession(
    {
      key: name,
      ...attributes,
      autoCommit: false,
      externalKey: { get: readCookie, set: sendCookie },
      genid: (ctx: Koa.Context) => ctx.state.nextSessionId ?? '',
      store: {
        get: async (id, _maxAge, { ctx }) => {
          ctx.state.session = await store.find(id);
          return ctx.state.session;
        },
        // koa-session writes nothing here, because the sign-in transaction and `extend` write the rows of sessions.
        set: async () => undefined,
        destroy: (id) => store.end(id),
      },
    },
    koa,
  );

  return (ctx, next) => {
    // A proxy may terminate TLS, so `PUBLIC_URL` decides whether cookies are secure, not the connection.
    if (secure) ctx.cookies.secure = true;
    return load(ctx, async () => {
      const token = sessionTokenOf(ctx);
      if (token !== null) await readToken(ctx, token);
      const session = sessionOf(ctx);
      if (session) {
        const id: string = ctx.state.sessionId;
        const extended = await extend(ctx, id, session);
        if (session.transport === 'cookie' && (extended || ctx.state.signedByOldKey)) sendCookie(ctx, id);
      }
      await next();
    });
  };
}
