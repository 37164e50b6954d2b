import { type IncomingMessage, ServerResponse } from 'node:http';
import Keygrip from 'keygrip';
import type Koa from 'koa';
import koaSession from 'koa-session';
import { constantTimeEqual } from '#lib/constant-time-equal.ts';
import type { App } from '#platform/app.ts';
import { isUnavailable } from '#platform/http/errors.ts';
import { isDue, type SessionRecord, SessionStore } from './session-store.ts';

/** Runs a request with its session read. */
export type Sessions = (ctx: Koa.Context, next: () => Promise<void>) => Promise<void>;

/** What koa-session puts on the context, as far as it is used here. */
interface KoaSession {
  regenerate(): Promise<void>;
  manuallyCommit(): Promise<void>;
}

/** While the record is down sessions are not extended; it is tried again after this long, ms. */
const EXTEND_AGAIN_MS = 10_000;

/** Signatures that a process remembers; beyond them it begins anew. */
const KNOWN_SIGNATURES = 20_000;

/** The wallet of the request's session, or null. */
export function walletOf(ctx: Koa.Context): string | null {
  return sessionOf(ctx)?.wallet ?? null;
}

/** The request's session, or null. */
export function sessionOf(ctx: Koa.Context): SessionRecord | null {
  return ctx.state.session ?? null;
}

/** The id of the request's session, as `SessionStore` takes it; null without a session. */
export function sessionIdOf(ctx: Koa.Context): string | null {
  return sessionOf(ctx) === null ? null : (ctx.state.sessionId ?? null);
}

/** Answers with a session that was just created; ends the one that the request came with. */
export async function enterSession(ctx: Koa.Context, id: string, session: SessionRecord): Promise<void> {
  ctx.state.sessionId = id;
  ctx.state.nextSessionId = id;
  ctx.state.session = session;
  // Assigned first: regenerating keeps what the old session held.
  ctx.session = session;
  const fresh: KoaSession = ctx.session;
  await fresh.regenerate();
}

/** Ends the request's session and clears its cookie. */
export async function leaveSession(ctx: Koa.Context): Promise<void> {
  const session: KoaSession = ctx.session;
  ctx.session = null;
  ctx.state.session = null;
  await session.manuallyCommit();
}

/** The wallet of a request that never reaches Koa's middleware, such as a WebSocket upgrade; null without a session. */
export async function walletOfUpgrade(koa: Koa, sessions: Sessions, request: IncomingMessage): Promise<string | null> {
  const ctx = koa.createContext(request, new ServerResponse(request));
  await sessions(ctx, async () => undefined);
  return walletOf(ctx);
}

const opened = new WeakMap<Koa, Sessions>();

/** The session middleware of an application; it has one, however often it is asked for. */
export function openSessions(app: App, koa: Koa): Sessions {
  const sessions = opened.get(koa) ?? makeSessions(app, koa);
  opened.set(koa, sessions);
  return sessions;
}

/**
 * koa-session reads the session by its cookie, replaces it and removes it;
 * it never commits by itself, so a request costs one read and neither a second hash nor a write.
 * The cookie is read and written here: koa's own renewal of a signature forgets the cookie's lifetime and SameSite.
 */
function makeSessions(app: App, koa: Koa): Sessions {
  const store = new SessionStore(app);
  koa.keys = new Keygrip([...app.config.sessionKeys], 'sha256');
  const signers = app.config.sessionKeys.map((key) => new Keygrip([key], 'sha256'));
  const secure = app.config.publicUrl.protocol === 'https:';
  const name = secure ? '__Host-coinop.sid' : 'coinop.sid';
  const attributes = { httpOnly: true, sameSite: 'lax', secure, signed: true, overwrite: true } as const;
  /** Signatures that were right, and which key made them: whoever knows one may use it, so finding it again says as much as another HMAC. */
  const signatures = new Map<string, number>();
  let extendFrom = 0;

  function sendCookie(ctx: Koa.Context, id: string): void {
    const session = sessionOf(ctx);
    if (session) ctx.cookies.set(name, id, { ...attributes, maxAge: Math.max(1, session.expiresAt - app.clock.now().getTime()) });
  }

  /** Which key made a signature, -1 for none. Keygrip's own comparison makes three HMACs and a random key of it, thirty times the work. */
  function signerOf(signed: string, signature: string): number {
    const pair = `${signed} ${signature}`;
    const known = signatures.get(pair);
    if (known !== undefined) return known;
    const signer = signers.findIndex((one) => constantTimeEqual(one.sign(signed), signature));
    if (signer < 0) return signer;
    if (signatures.size >= KNOWN_SIGNATURES) signatures.clear();
    signatures.set(pair, signer);
    return signer;
  }

  /** The id in the cookie, if one of our keys signed it. */
  function readCookie(ctx: Koa.Context): string {
    const id = ctx.cookies.get(name, { signed: false });
    const signature = ctx.cookies.get(`${name}.sig`, { signed: false });
    if (!id || !signature) return '';
    const key = signerOf(`${name}=${id}`, signature);
    ctx.state.signedByOldKey = key > 0;
    ctx.state.sessionId = key < 0 ? '' : id;
    return ctx.state.sessionId;
  }

  /** Extends the session when that is due. A record that is down does not keep a cached session from being read. */
  async function extend(ctx: Koa.Context, id: string, session: SessionRecord): Promise<boolean> {
    const now = app.clock.now().getTime();
    if (now < extendFrom || !isDue(session, now)) return false;
    try {
      const outcome = await store.extend(id);
      ctx.state.session = outcome?.session ?? null;
      return outcome?.extended ?? false;
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      extendFrom = now + EXTEND_AGAIN_MS;
      app.log.warn({ err: error }, 'sessions are not extended');
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
        // Rows are written by the transaction that signs in, and by `extend`.
        set: async () => undefined,
        destroy: (id) => store.end(id),
      },
    },
    koa,
  );

  return (ctx, next) => {
    // TLS may end in front of us, trusted or not: who we are says whether cookies are for TLS alone.
    if (secure) ctx.cookies.secure = true;
    return load(ctx, async () => {
      const session = sessionOf(ctx);
      if (session) {
        const id: string = ctx.state.sessionId;
        const extended = await extend(ctx, id, session);
        if (extended || ctx.state.signedByOldKey) sendCookie(ctx, id);
      }
      await next();
    });
  };
}
