import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type HttpError, unavailable } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { sendXRequest } from './request.ts';

/** Permanent id of an account or a post of X. */
export const XId = z.string().regex(/^\d{1,20}$/);
/** Name of an account without the `@`. The owner of the account can change it. */
export const XHandle = z.string().regex(/^\w{1,32}$/);

/** An account of X. */
export interface XAccount {
  readonly accountId: string;
  readonly handle: string;
}

/** A public post on X. */
interface XPost {
  readonly author: XAccount;
  /** The full text, also of a long post. */
  readonly text: string;
  /** True for a repost of another account's post. */
  readonly isRepost: boolean;
}

/** OAuth scopes of the sign-in. X requires both to read the signed-in account. */
const SCOPES = 'tweet.read users.read';

type XClient = NonNullable<App['config']['x']['client']>;

const User = z.looseObject({ id: XId, username: XHandle });
const Token = z.looseObject({ access_token: z.string().regex(/^[\x21-\x7e]{1,4096}$/) });
const Me = z.looseObject({ data: User });
const Post = z.looseObject({
  data: z.looseObject({
    author_id: XId,
    text: z.string(),
    note_tweet: z.looseObject({ text: z.string() }).optional(),
    referenced_tweets: z.array(z.looseObject({ type: z.string() })).optional(),
  }),
  includes: z.looseObject({ users: z.array(User) }),
});

/** Creates the 503 error for a response of X that does not match the documented format. */
const unexpectedResponse = (): HttpError => unavailable('X sent an unexpected response, try again later', 60);

/**
 * Returns the sign-in URL of X. After the sign-in, X redirects to `redirectUrl` with `state` and a code. The code is valid only together with
 * `verifier` (PKCE, RFC 7636).
 */
export function authorizationUrl(app: App, client: XClient, { state, verifier }: { state: string; verifier: string }): string {
  const url = new URL(app.config.x.authorizeUrl);
  const parameters = {
    response_type: 'code',
    client_id: client.id,
    redirect_uri: client.redirectUrl,
    scope: SCOPES,
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  };
  // `encodeURIComponent` encodes a space as `%20`. `URLSearchParams` would encode it as `+`, which X does not decode.
  url.search = Object.entries(parameters)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&');
  return url.href;
}

/** Returns the URL of X's post composer with a prefilled text. */
export function composerUrl(app: App, text: string): string {
  return new URL(`/intent/tweet?text=${encodeURIComponent(text)}`, app.config.x.authorizeUrl).href;
}

/**
 * Returns a request's form and `Authorization` header with the credentials of the OAuth client. A confidential client sends its id and secret in the
 * header, a public client sends its id in the form.
 */
const asClient = ({ id, secret }: XClient, form: Record<string, string>) =>
  secret === null ? { form: { ...form, client_id: id } } : { form, authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` };

/**
 * Exchanges an OAuth code for an access token of the signed-in account.
 * @returns the access token; null when X rejects the code because it is unknown, used, expired, or issued for another verifier
 * @throws 503 when X does not answer
 */
export async function exchangeCode(app: App, client: XClient, { code, verifier }: { code: string; verifier: string }): Promise<string | null> {
  const form = { grant_type: 'authorization_code', code, redirect_uri: client.redirectUrl, code_verifier: verifier };
  const { status, body } = await sendXRequest(app, { path: '/2/oauth2/token', ...asClient(client, form), acceptedStatuses: [400] });
  if (status === 400) return null;
  const token = Token.safeParse(body);
  if (!token.success) throw unexpectedResponse();
  return token.data.access_token;
}

/**
 * Returns the X account for which X issued an access token.
 * @throws 503 when X does not answer
 */
export async function readTokenOwner(app: App, token: string): Promise<XAccount> {
  const { body } = await sendXRequest(app, { path: '/2/users/me', authorization: `Bearer ${token}` });
  const me = Me.safeParse(body);
  if (!me.success) throw unexpectedResponse();
  return { accountId: me.data.data.id, handle: me.data.data.username };
}

/** Revokes an access token. Ignores a failure, because the token is not stored and expires within two hours. */
export async function revokeToken(app: App, client: XClient, token: string): Promise<void> {
  await sendXRequest(app, { path: '/2/oauth2/revoke', ...asClient(client, { token }) }).catch(() => undefined);
}

/**
 * Reads a post; null when the post does not exist or is not public.
 * @param id the post's id, digits only
 * @throws 503 when X does not answer
 */
export async function readPost(app: App, bearerToken: string, id: string): Promise<XPost | null> {
  const fields = 'tweet.fields=author_id,note_tweet,referenced_tweets&expansions=author_id&user.fields=username';
  const { status, body } = await sendXRequest(app, {
    path: `/2/tweets/${XId.parse(id)}?${fields}`,
    authorization: `Bearer ${bearerToken}`,
    acceptedStatuses: [400, 404],
  });
  // For a deleted or protected post, X answers 200 with `errors` and without `data`.
  if (status !== 200 || z.looseObject({ data: z.undefined().optional(), errors: z.array(z.unknown()) }).safeParse(body).success) return null;
  const parsed = Post.safeParse(body);
  const author = parsed.data?.includes.users.find((user) => user.id === parsed.data.data.author_id);
  if (!parsed.success || !author) throw unexpectedResponse();
  const { text, note_tweet, referenced_tweets = [] } = parsed.data.data;
  return {
    author: { accountId: author.id, handle: author.username },
    text: note_tweet?.text ?? text,
    isRepost: referenced_tweets.some(({ type }) => type === 'retweeted'),
  };
}
