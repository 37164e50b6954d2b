import { lockPlayers } from '#areas/points';
import { fail, unavailable } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { countWithin, type Limit } from '#platform/auth/rate-limit.ts';
import { authorizationUrl, composerUrl, dropToken, exchangeCode, readPost, whoseToken, type XAccount } from '#platform/x/api.ts';
import type { LinkedAccount } from './accounts.ts';
import { beginAttempt, newCode, newSecret, openCodes, releaseAttempt, useAttempt } from './attempts.ts';
import { confirmLink } from './link.ts';

const PLATFORM = 'x';
/** Every try may cost a question to X. */
const TRIES: Limit = { name: 'link-verify', most: 20, windowMs: 600_000 };
/** Nothing that the caller can do changes it, s. */
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

/** What is to be posted. It names the wallet, so that nobody posts it for somebody else's without noticing; nothing in it is taken for a link. */
const challengeText = (wallet: string, code: string): string => `Linking my X account to the Coinop wallet ${wallet}, code ${code}`;

/** Begins to link an account by signing in to X. `expiresAt`: ms since 1970. */
export async function startOAuth(app: App, wallet: string): Promise<{ url: string; state: string; expiresAt: number }> {
  const client = clientOf(app);
  const [state, verifier] = [newSecret(), newSecret()];
  const expiresAt = await begin(app, wallet, 'oauth', state, verifier);
  return { url: authorizationUrl(app, client, { state, verifier }), state, expiresAt };
}

/** Begins to link an account by a post. `expiresAt`: ms since 1970. */
export async function startChallenge(app: App, wallet: string): Promise<{ url: string; challenge: string; expiresAt: number }> {
  bearerOf(app);
  const code = newCode();
  const challenge = challengeText(wallet, code);
  const expiresAt = await begin(app, wallet, 'challenge', code, code);
  return { url: composerUrl(app, challenge), challenge, expiresAt };
}

async function begin(app: App, wallet: string, method: 'oauth' | 'challenge', name: string, secret: string): Promise<number> {
  return await app.tx(async (tx) => {
    if ((await lockPlayers(tx, [wallet])).get(wallet)?.banned) throw fail(403, 'this wallet is banned');
    return await beginAttempt(tx, { wallet, platform: PLATFORM, method, name, secret });
  });
}

const USED = 'has been used already, begin linking again';
const NO_CHALLENGE = 'this wallet must have begun to link an account by a post in the last 10 minutes';
const linkOf = (wallet: string, account: XAccount): Omit<LinkedAccount, 'linkedAt'> => ({ platform: PLATFORM, ...account, wallet });

/**
 * Links the account of who came back from X. The state is used up before X is asked, so that a code is shown to X once; where X does not
 * answer, it is good again.
 * @throws 400 state or code is not good, 403 banned, 409 used before or linked otherwise, 429, 503 X does not answer
 */
export async function verifyOAuth(app: App, wallet: string, { code, state }: { code: string; state: string }): Promise<LinkedAccount> {
  const client = clientOf(app);
  await countWithin(app, TRIES, wallet);
  const attempt = await app.tx((tx) => useAttempt(tx, wallet, 'oauth', state));
  if (attempt === 'used') throw fail(409, `state ${USED}`);
  if (attempt === null) throw fail(400, 'state must be of a linking that this wallet has begun in the last 10 minutes');
  const token = await exchangeCode(app, client, { code, verifier: attempt.secret }).catch(async (error: unknown) => {
    await app.tx((tx) => releaseAttempt(tx, wallet, state));
    throw error;
  });
  if (token === null) throw fail(400, 'code must be what X has just given for this state; begin linking again');
  const linking = whoseToken(app, token).then(
    (account) => app.tx((tx) => confirmLink(tx, linkOf(wallet, account))),
    () => {
      throw unavailable('X did not say whose account it is, begin linking again');
    },
  );
  // All that it was for.
  void linking.catch(() => undefined).then(() => dropToken(app, client, token));
  return await linking;
}

/**
 * Links the account that posted a challenge of this wallet.
 * @param postId digits
 * @throws 400 no challenge is open, or the post is not one of it; 403 banned; 409 linked otherwise; 429; 503 X does not answer
 */
export async function verifyPost(app: App, wallet: string, postId: string): Promise<LinkedAccount> {
  const bearerToken = bearerOf(app);
  await countWithin(app, TRIES, wallet);
  const codes = await openCodes(app.db, wallet, PLATFORM);
  if (codes.length === 0) throw fail(400, NO_CHALLENGE);
  await countWithin(app, { name: 'x-post-reads', most: app.config.x.postReadsPerHour, windowMs: 3_600_000 }, 'all');
  const post = await readPost(app, bearerToken, postId);
  if (post === null) throw fail(400, 'the post must be one that everybody can see');
  const text = post.text.replaceAll(/\s+/g, ' ').trim();
  // Who only repeats what another has written has not written it.
  const code = post.isRepost ? undefined : codes.find((one) => text.startsWith(challengeText(wallet, one)));
  if (code === undefined) throw fail(400, 'the post must begin with the text of the challenge');
  return await app.tx(async (tx) => {
    // The locks of account and wallet first, as everywhere.
    const linked = await confirmLink(tx, linkOf(wallet, post.author));
    const attempt = await useAttempt(tx, wallet, 'challenge', code);
    if (attempt === 'used') throw fail(409, `the challenge ${USED}`);
    if (attempt === null) throw fail(400, NO_CHALLENGE);
    return linked;
  });
}
