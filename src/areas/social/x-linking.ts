import { lockPlayers } from '#areas/points';
import { fail, unavailable } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { enforceRateLimit, type RateLimit } from '#platform/auth/rate-limit.ts';
import { authorizationUrl, composerUrl, exchangeCode, readPost, readTokenOwner, revokeToken, type XAccount } from '#platform/x/api.ts';
import type { LinkedAccount } from './accounts.ts';
import { beginAttempt, newCode, newSecret, readOpenCodes, releaseAttempt, useAttempt } from './attempts.ts';
import { confirmLink } from './link.ts';

const PLATFORM = 'x';
/** Rate limit of verify requests. Each verify request may cost a request to X. */
const VERIFY_LIMIT: RateLimit = { name: 'link-verify', max: 20, windowMs: 600_000 };
/** `Retry-After` when linking is not configured, seconds. The time is long, because only an operator can change the configuration. */
const UNCONFIGURED_RETRY_SEC = 3_600;

function clientOf(app: App) {
  const { client } = app.config.x;
  if (client === null) throw unavailable('linking by signing in to X is not configured on this service', UNCONFIGURED_RETRY_SEC);
  return client;
}
function bearerOf(app: App): string {
  const { bearerToken } = app.config.x;
  if (bearerToken === null) throw unavailable('linking by a post on X is not configured on this service', UNCONFIGURED_RETRY_SEC);
  return bearerToken;
}

/**
 * Returns the text that the user must post. The text names the wallet, so that a user notices a wallet that is not their own. The text contains no
 * characters that X would turn into a link.
 */
const challengeText = (wallet: string, code: string): string => `Linking my X account to the Coinop wallet ${wallet}, code ${code}`;

/** Starts linking by an X sign-in. `expiresAt` is ms since 1970. */
export async function startOAuth(app: App, wallet: string): Promise<{ url: string; state: string; expiresAt: number }> {
  const client = clientOf(app);
  const [state, verifier] = [newSecret(), newSecret()];
  const expiresAt = await storeAttempt(app, wallet, 'oauth', state, verifier);
  return { url: authorizationUrl(app, client, { state, verifier }), state, expiresAt };
}

/** Starts linking by a post. `expiresAt` is ms since 1970. */
export async function startChallenge(app: App, wallet: string): Promise<{ url: string; challenge: string; expiresAt: number }> {
  bearerOf(app);
  const code = newCode();
  const challenge = challengeText(wallet, code);
  const expiresAt = await storeAttempt(app, wallet, 'challenge', code, code);
  return { url: composerUrl(app, challenge), challenge, expiresAt };
}

async function storeAttempt(app: App, wallet: string, method: 'oauth' | 'challenge', name: string, secret: string): Promise<number> {
  return await app.tx(async (tx) => {
    if ((await lockPlayers(tx, [wallet])).get(wallet)?.banned) throw fail(403, 'this wallet is banned');
    return await beginAttempt(tx, { wallet, platform: PLATFORM, method, name, secret });
  });
}

const ALREADY_USED = 'has been used already; start linking again';
const NO_CHALLENGE = 'the wallet has no open challenge; start linking by a post, then verify within 10 minutes';
const toLink = (wallet: string, account: XAccount): Omit<LinkedAccount, 'linkedAt'> => ({ platform: PLATFORM, ...account, wallet });

/**
 * Links the account that signed in to X. Marks the state as used before the request to X, so that each code is sent to X only once. If X does not
 * respond, marks the state as unused again.
 * @throws 400 for an invalid state or code; 403 when the wallet is banned; 409 when the state was used before, the account is linked to another
 * wallet, or the wallet to another account; 429 above the rate limit; 503 when X does not respond
 */
export async function verifyOAuth(app: App, wallet: string, { code, state }: { code: string; state: string }): Promise<LinkedAccount> {
  const client = clientOf(app);
  await enforceRateLimit(app, VERIFY_LIMIT, wallet);
  const attempt = await app.tx((tx) => useAttempt(tx, wallet, 'oauth', state));
  if (attempt === 'used') throw fail(409, `state ${ALREADY_USED}`);
  if (attempt === null) throw fail(400, 'state must be the value that /auth/social/link/start returned to this wallet in the last 10 minutes');
  const token = await exchangeCode(app, client, { code, verifier: attempt.secret }).catch(async (error: unknown) => {
    await app.tx((tx) => releaseAttempt(tx, wallet, state));
    throw error;
  });
  if (token === null) throw fail(400, 'code must be the code that X has just returned for this state; start linking again');
  const linking = readTokenOwner(app, token).then(
    (account) => app.tx((tx) => confirmLink(tx, toLink(wallet, account))),
    () => {
      throw unavailable('X did not return the account; start linking again');
    },
  );
  // Revokes X's access token, because the service needs no further requests to X for this link.
  const revoke = () => revokeToken(app, client, token);
  linking.then(revoke, revoke).catch((err: unknown) => app.log.warn({ err }, 'an access token of X cannot be revoked; it expires within two hours'));
  return await linking;
}

/**
 * Links the account that posted a challenge of this wallet.
 * @param postId decimal digits that identify the post
 * @throws 400 when the wallet has no open challenge, or the post does not begin with one; 403 when the wallet is banned; 409 when the challenge was
 * used before, the account is linked to another wallet, or the wallet to another account; 429 above a rate limit; 503 when X does not respond
 */
export async function verifyPost(app: App, wallet: string, postId: string): Promise<LinkedAccount> {
  const bearerToken = bearerOf(app);
  await enforceRateLimit(app, VERIFY_LIMIT, wallet);
  const codes = await readOpenCodes(app.db, wallet, PLATFORM);
  if (codes.length === 0) throw fail(400, NO_CHALLENGE);
  await enforceRateLimit(app, { name: 'x-post-reads', max: app.config.x.postReadsPerHour, windowMs: 3_600_000 }, 'all');
  const post = await readPost(app, bearerToken, postId);
  if (post === null) throw fail(400, 'the post must be public');
  const text = post.text.replaceAll(/\s+/g, ' ').trim();
  // Ignores the text of a repost, because another account wrote it.
  const code = post.isRepost ? undefined : codes.find((one) => text.startsWith(challengeText(wallet, one)));
  if (code === undefined) throw fail(400, 'the post must begin with the text of the challenge');
  return await app.tx(async (tx) => {
    // Calls `confirmLink` before `useAttempt`, because every transaction locks the account and the wallet before other rows, so that transactions do
    // not deadlock.
    const linked = await confirmLink(tx, toLink(wallet, post.author));
    const attempt = await useAttempt(tx, wallet, 'challenge', code);
    if (attempt === 'used') throw fail(409, `the challenge ${ALREADY_USED}`);
    if (attempt === null) throw fail(400, NO_CHALLENGE);
    return linked;
  });
}
