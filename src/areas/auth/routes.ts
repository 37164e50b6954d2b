import { z } from 'zod';
import { ensurePlayer } from '#areas/points';
import { fail } from '#lib/errors.ts';
import { PageQuery } from '#lib/paging.ts';
import { originOf } from '#platform/auth/origin.ts';
import { enforceRateLimit } from '#platform/auth/rate-limit.ts';
import { listedIdOf, listSessions } from '#platform/auth/session-list.ts';
import { isRestricted } from '#platform/auth/session-record.ts';
import { createSession, SessionStore } from '#platform/auth/session-store.ts';
import { createTicket } from '#platform/auth/session-tickets.ts';
import { endSession, requestSessionKey, sessionOf, sessionRequired, startSession } from '#platform/auth/sessions.ts';
import { isUnavailable } from '#platform/http/errors.ts';
import { reply, route } from '#platform/http/route.ts';
import { peekHolding } from '#platform/solana/token-gate.ts';
import { consumeNonce, issueNonce } from './nonces.ts';
import { checkProof, proofRefused } from './proof.ts';
import { Me, OwnSession, SessionPath, SignedIn, SignedOut, SignInNonce, SignInProof, SocketTicket } from './schemas.ts';

const iso = (ms: number) => new Date(ms).toISOString();

/** Tickets per wallet, so that the rows of tickets that are not used stay few. */
const TICKETS = { name: 'socket-tickets', max: 60, windowMs: 60_000 };

/** Sign-ins per wallet. Only the owner of the wallet can sign in, so nobody else can use the limit up. */
const SIGN_INS = { name: 'sign-ins', max: 60, windowMs: 60_000 };

const nonce = route({
  method: 'post',
  path: '/auth/nonce',
  auth: 'public',
  summary: 'Create a nonce and the text to sign',
  description:
    'The service decides the text. The domain in the text is the domain of the Origin header, or the domain of the service when the request has no Origin header.',
  returns: { 200: SignInNonce },
  fails: [],
  handler: async ({ app, ctx }) => {
    // The router has already rejected a request whose Origin is not allowed.
    const origin = new URL(ctx.headers.origin ?? app.config.publicUrl.origin);
    const signInInput = await app.tx((tx) => issueNonce(tx, { origin, ...app.config.signIn }));
    return reply(200, { nonce: signInInput.nonce, signInInput, expiresAt: signInInput.expirationTime });
  },
});

const verify = route({
  method: 'post',
  path: '/auth/verify',
  auth: 'optional',
  summary: 'Sign in with a signed text or transaction',
  description:
    'Sets the session cookie, and ends the session of the request’s cookie, if any. With `transport: "bearer"`, answers a session token instead: for a page of another site, where browsers block cookies. The token is sent as `Authorization: Bearer …`, also to `GET /events`; a WebSocket takes a ticket (`POST /auth/ticket`). It ends after 24 hours, and counts only for requests with the `Origin` of this request, if it has one. A request with a Bearer token is a request without a cookie. The session of a banned wallet only serves to read its own data, to appeal and to delete its account; every other route answers 403. A wallet has at most 100 sessions: a further sign-in ends the oldest one.',
  body: SignInProof,
  returns: { 200: SignedIn },
  fails: [401, 429],
  handler: async ({ app, ctx, body }) => {
    const wallet = body.publicKey;
    const proven = await checkProof(app.db, body);
    // A sign-in works without Redis. Meanwhile only `MAX_SESSIONS` limits a wallet.
    await enforceRateLimit(app, SIGN_INS, wallet).catch((error: unknown) => {
      if (!isUnavailable(error)) throw error;
    });
    const { transport } = body;
    const origin = transport === 'bearer' ? originOf(app.config, ctx.headers) : null;
    const { id, session } = await app.tx(async (tx) => {
      if (!(await consumeNonce(tx, proven))) throw proofRefused(body);
      return createSession(tx, wallet, { transport, origin, ...(await ensurePlayer(tx, wallet)) });
    });
    await new SessionStore(app)
      .endSurplus(wallet)
      .catch((err: unknown) => app.log.warn({ err }, 'the oldest sessions of a wallet could not be ended; its next sign-in ends them'));
    const signedIn = { wallet, expiresAt: iso(session.expiresAt), banned: isRestricted(id) };
    if (sessionOf(ctx)?.transport === 'bearer') await endSession(app, ctx);
    if (transport === 'bearer') return reply(200, { ...signedIn, token: id });
    await startSession(ctx, id, session);
    return reply(200, signedIn);
  },
});

const logout = route({
  method: 'post',
  path: '/auth/logout',
  auth: 'session',
  forBanned: true,
  summary: 'Sign out',
  description: 'Ends the session in all processes, with its event streams and WebSockets, and clears its cookie.',
  returns: { 200: SignedOut },
  fails: [],
  handler: async ({ app, ctx }) => {
    await endSession(app, ctx);
    return reply(200, { signedOut: true });
  },
});

const ticket = route({
  method: 'post',
  path: '/auth/ticket',
  auth: 'session',
  summary: 'Create a ticket that opens one WebSocket',
  description:
    'A page cannot send `Authorization` with a WebSocket. It adds `ticket=` and the ticket to the query of the URL of the WebSocket. The ticket serves once, within 30 seconds, and for a session that is bound to an origin only from this origin. The WebSocket ends with the session.',
  returns: { 201: SocketTicket },
  fails: [429],
  handler: async ({ app, wallet, ctx }) => {
    await enforceRateLimit(app, TICKETS, wallet);
    const key = requestSessionKey(ctx);
    if (key === null) throw sessionRequired(ctx);
    const { ticket, expiresAt } = await createTicket(app, key);
    return reply(201, { ticket, expiresAt: iso(expiresAt) });
  },
});

const me = route({
  method: 'get',
  path: '/me',
  auth: 'session',
  forBanned: true,
  summary: 'Read the caller’s wallet, token balance and session',
  description:
    'Waits at most 0.3 seconds for the RPC node. If the balance is not known by then, `tokenBalance` and `eligible` are null; `/eligibility` waits longer for them.',
  returns: { 200: Me },
  fails: [],
  handler: async ({ app, wallet, ctx }) => {
    const session = sessionOf(ctx);
    if (!session) throw sessionRequired(ctx);
    const { createdAt, expiresAt, extendedAt } = session;
    return reply(200, {
      wallet,
      ...(await peekHolding(app, wallet)),
      session: { createdAt: iso(createdAt), expiresAt: iso(expiresAt), lastExtendedAt: iso(extendedAt) },
    });
  },
});

const getSessions = route({
  method: 'get',
  path: '/me/sessions',
  auth: 'session',
  forBanned: true,
  summary: 'List the caller’s sessions',
  description: 'Newest first. Sessions that have ended or expired are not listed.',
  query: PageQuery,
  returns: { 200: z.array(OwnSession) },
  fails: [],
  handler: async ({ app, wallet, query, ctx }) => {
    const { sessions, total } = await listSessions(app.db, wallet, query.limit, query.offset);
    const own = listedIdOf(requestSessionKey(ctx) ?? '');
    return reply(
      200,
      sessions.map((session) => ({ ...session, lastUsedAt: session.lastExtendedAt, current: session.id === own })),
      { 'X-Total-Count': String(total) },
    );
  },
});

const deleteSession = route({
  method: 'delete',
  path: '/me/sessions/{id}',
  auth: 'session',
  forBanned: true,
  summary: 'End one of the caller’s sessions',
  description: 'Ends the session in all processes, with its event streams and WebSockets. Ending the session of this request also clears its cookie.',
  params: SessionPath,
  returns: { 204: null },
  fails: [404],
  handler: async ({ app, wallet, params, ctx }) => {
    if (!(await new SessionStore(app).endListed(wallet, params.id))) throw fail(404, 'there is no such session');
    if (params.id === listedIdOf(requestSessionKey(ctx) ?? '')) await endSession(app, ctx);
    return reply(204, null);
  },
});

const deleteSessions = route({
  method: 'delete',
  path: '/me/sessions',
  auth: 'session',
  forBanned: true,
  summary: 'End all of the caller’s sessions',
  description: 'Signs the wallet out everywhere, also here: ends its sessions in all processes, with their event streams and WebSockets.',
  returns: { 204: null },
  fails: [],
  handler: async ({ app, wallet, ctx }) => {
    await new SessionStore(app).endAll(wallet);
    await endSession(app, ctx);
    return reply(204, null);
  },
});

/** The routes of sign-in and sign-out, by caller. */
export const authRoutes = { public: [nonce, verify], session: [logout, ticket, me, getSessions, deleteSessions, deleteSession] };
