import { ensurePlayer } from '#areas/points';
import { fail } from '#lib/errors.ts';
import { createSession } from '#platform/auth/session-store.ts';
import { enterSession, leaveSession, sessionOf } from '#platform/auth/sessions.ts';
import { reply, route } from '#platform/http/route.ts';
import { glanceAt } from '#platform/solana/token-gate.ts';
import { issueNonce, useNonce } from './nonces.ts';
import { checkProof, notAccepted } from './proof.ts';
import { Me, SignedIn, SignedOut, SignInNonce, SignInProof } from './schemas.ts';

const iso = (ms: number) => new Date(ms).toISOString();

const nonce = route({
  method: 'post',
  path: '/auth/nonce',
  auth: 'public',
  summary: 'Ask for something to sign',
  description: 'The text is decided by the service: its domain is that of an allowed Origin, or else of the service itself.',
  returns: { 200: SignInNonce },
  fails: [],
  handler: async ({ app, ctx }) => {
    // An Origin that got here is an allowed one.
    const origin = new URL(ctx.headers.origin ?? app.config.publicUrl.origin);
    const signInInput = await app.tx((tx) => issueNonce(tx, { origin, ...app.config.signIn }));
    return reply(200, { nonce: signInInput.nonce, signInInput, expiresAt: signInInput.expirationTime });
  },
});

const verify = route({
  method: 'post',
  path: '/auth/verify',
  auth: 'optional',
  summary: 'Sign in with what a wallet signed',
  description: 'Sets the session’s cookie. A session that the request came with ends.',
  body: SignInProof,
  returns: { 200: SignedIn },
  fails: [401, 403],
  handler: async ({ app, ctx, body }) => {
    const wallet = body.publicKey;
    const proven = await checkProof(app.db, body);
    const { id, session } = await app.tx(async (tx) => {
      if (!(await useNonce(tx, proven))) throw notAccepted(body);
      if ((await ensurePlayer(tx, wallet)).banned) throw fail(403, 'publicKey must not be a banned wallet');
      return createSession(tx, wallet);
    });
    await enterSession(ctx, id, session);
    return reply(200, { wallet, expiresAt: iso(session.expiresAt) });
  },
});

const logout = route({
  method: 'post',
  path: '/auth/logout',
  auth: 'session',
  summary: 'Sign out',
  description: 'Ends the session everywhere at once and clears its cookie.',
  returns: { 200: SignedOut },
  fails: [],
  handler: async ({ ctx }) => {
    await leaveSession(ctx);
    return reply(200, { signedOut: true });
  },
});

const me = route({
  method: 'get',
  path: '/me',
  auth: 'session',
  summary: 'Who am I',
  description: 'Does not wait for the chain: what it does not tell within 0.3 seconds is null here, and asked for at `/eligibility`.',
  returns: { 200: Me },
  fails: [],
  handler: async ({ app, wallet, ctx }) => {
    const session = sessionOf(ctx);
    if (!session) throw fail(401, 'a session is required, sign in first');
    const { createdAt, expiresAt, extendedAt } = session;
    return reply(200, {
      wallet,
      ...(await glanceAt(app, wallet)),
      session: { createdAt: iso(createdAt), expiresAt: iso(expiresAt), lastExtendedAt: iso(extendedAt) },
    });
  },
});

/** Signing in and out. */
export const authRoutes = { public: [nonce, verify], session: [logout, me] };
