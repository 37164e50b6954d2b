import { z } from 'zod';
import { ensurePlayer } from '#areas/points';
import { fail } from '#lib/errors.ts';
import { PageQuery } from '#lib/paging.ts';
import { createSession, isRestricted, listedIdOf, listSessions, SessionStore } from '#platform/auth/session-store.ts';
import { endSession, sessionIdOf, sessionOf, startSession } from '#platform/auth/sessions.ts';
import { reply, route } from '#platform/http/route.ts';
import { peekHolding } from '#platform/solana/token-gate.ts';
import { consumeNonce, issueNonce } from './nonces.ts';
import { checkProof, proofRefused } from './proof.ts';
import { Me, OwnSession, SessionPath, SignedIn, SignedOut, SignInNonce, SignInProof } from './schemas.ts';

const iso = (ms: number) => new Date(ms).toISOString();

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
    'Sets the session cookie. Ends the session of the request’s cookie, if any. The session of a banned wallet only serves to read its own data, to appeal and to delete its account; every other route answers 403.',
  body: SignInProof,
  returns: { 200: SignedIn },
  fails: [401],
  handler: async ({ app, ctx, body }) => {
    const wallet = body.publicKey;
    const proven = await checkProof(app.db, body);
    const { id, session } = await app.tx(async (tx) => {
      if (!(await consumeNonce(tx, proven))) throw proofRefused(body);
      return createSession(tx, wallet, await ensurePlayer(tx, wallet));
    });
    await startSession(ctx, id, session);
    return reply(200, { wallet, expiresAt: iso(session.expiresAt), banned: isRestricted(id) });
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
  handler: async ({ ctx }) => {
    await endSession(ctx);
    return reply(200, { signedOut: true });
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
    if (!session) throw fail(401, 'a session is required, sign in first');
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
    const own = listedIdOf(sessionIdOf(ctx) ?? '');
    return reply(
      200,
      sessions.map((session) => ({ ...session, current: session.id === own })),
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
    if (params.id === listedIdOf(sessionIdOf(ctx) ?? '')) await endSession(ctx);
    return reply(204, null);
  },
});

/** The routes of sign-in and sign-out, by caller. */
export const authRoutes = { public: [nonce, verify], session: [logout, me, getSessions, deleteSession] };
