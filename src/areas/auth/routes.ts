import { ensurePlayer } from '#areas/points';
import { fail } from '#lib/errors.ts';
import { createSession } from '#platform/auth/session-store.ts';
import { endSession, sessionOf, startSession } from '#platform/auth/sessions.ts';
import { reply, route } from '#platform/http/route.ts';
import { peekHolding } from '#platform/solana/token-gate.ts';
import { consumeNonce, issueNonce } from './nonces.ts';
import { checkProof, proofRefused } from './proof.ts';
import { Me, SignedIn, SignedOut, SignInNonce, SignInProof } from './schemas.ts';

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
  description: 'Sets the session cookie. Ends the session of the request’s cookie, if any.',
  body: SignInProof,
  returns: { 200: SignedIn },
  fails: [401, 403],
  handler: async ({ app, ctx, body }) => {
    const wallet = body.publicKey;
    const proven = await checkProof(app.db, body);
    const { id, session } = await app.tx(async (tx) => {
      if (!(await consumeNonce(tx, proven))) throw proofRefused(body);
      if ((await ensurePlayer(tx, wallet)).banned) throw fail(403, 'publicKey must not be a banned wallet');
      return createSession(tx, wallet);
    });
    await startSession(ctx, id, session);
    return reply(200, { wallet, expiresAt: iso(session.expiresAt) });
  },
});

const logout = route({
  method: 'post',
  path: '/auth/logout',
  auth: 'session',
  summary: 'Sign out',
  description: 'Ends the session in all processes and clears its cookie.',
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

/** The routes of sign-in and sign-out, by caller. */
export const authRoutes = { public: [nonce, verify], session: [logout, me] };
